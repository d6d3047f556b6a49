#include "mylos/checkpoint/write/folder.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view folder_name = "checkpoints";  // subfolder of a run's folder
constexpr std::string_view prefix = "step-";
constexpr std::string_view suffix = ".h5";
constexpr std::size_t min_digits = 10;
constexpr std::int64_t max_name_bytes = 4096;

fs::path checkpoint_folder(const std::string& folder) {
  return fs::path(folder) / folder_name;
}

/// Returns the step in the name of a checkpoint file; nothing for other names.
std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return {};
  const std::string_view digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  const bool only_digits =
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits.size() < min_digits || digits.size() > 18 || !only_digits) return {};
  return std::stoll(std::string(digits));
}

/// Returns all entries of FOLDER/checkpoints; none if the folder does not exist. Throws Error if it cannot be
/// read.
std::vector<fs::directory_entry> entries_of(const std::string& folder) {
  const fs::path path = checkpoint_folder(folder);
  std::error_code failure;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator entry(path, failure);
  while (!failure && entry != fs::directory_iterator()) {
    entries.push_back(*entry);
    entry.increment(failure);
  }
  const bool is_missing =
      failure == std::errc::no_such_file_or_directory || failure == std::errc::not_a_directory;
  if (failure && !is_missing)
    fail_input(errors::cannot_read, "{}: cannot be read: {}", path.string(), failure.message());
  return entries;
}

void remove_half_written(const std::string& folder) {
  std::error_code failure;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    const std::string name = entry.path().filename().string();
    const std::string final_name = name.substr(0, name.rfind('.'));
    if (name == temporary_path(final_name) && step_of(final_name)) fs::remove(entry.path(), failure);
  }
}

}  // namespace

void require_damage(const Error& error, const std::string& folder) {
  if (error.id() == errors::cannot_read) {
    throw Error(
        ExitCode::failed, error.id(),
        fmt::format("{}; only damaged checkpoints are passed over: make it readable, or move it out of {}",
                    error.message(), checkpoint_folder(folder).string()));
  }
  if (error.code() != ExitCode::bad_input) throw error;
}

namespace {

RestartChoice choose(const std::string& folder, const std::string& restart, std::int64_t below) {
  RestartChoice choice;
  if (restart != "auto" && restart != "latest") {
    if (fs::is_directory(restart)) {
      fail_input(
          errors::not_a_file,
          "--restart {}: is a folder; name a file in it, or the run with run.folder and --restart latest",
          restart);
    }
    verify_user_block(restart);
    choice.path = restart;
    return choice;
  }
  std::vector<CheckpointFile> files = list_checkpoints(folder);
  std::erase_if(files, [below](const CheckpointFile& file) { return file.step >= below; });
  for (; !files.empty(); files.pop_back()) {
    const std::string& path = files.back().path;
    try {
      verify_user_block(path);
      choice.path = path;
      choice.step = files.back().step;
      return choice;
    } catch (const Error& error) {
      require_damage(error, folder);
      choice.messages.push_back(fmt::format("skipped {}", error.message()));
    }
  }
  if (restart == "latest") {
    fail_input(errors::no_checkpoint,
               "--restart latest: {} has no valid checkpoint{}{}; --restart auto starts afresh then",
               checkpoint_folder(folder).string(), choice.messages.empty() ? "" : ": ",
               fmt::join(choice.messages, "; "));
  }
  return choice;
}

/// Returns the step of the oldest of the last keep_last files that `every` requested; -1 if it requests none.
std::int64_t first_of_last_regular(const std::vector<CheckpointFile>& files,
                                   const CheckpointOptions& options) {
  std::int64_t left = options.keep_last;
  std::int64_t first = -1;
  for (auto file = files.rbegin(); options.every > 0 && file != files.rend() && left > 0; ++file) {
    if (file->step % options.every != 0) continue;
    first = file->step;
    --left;
  }
  return first;
}

/// Returns a name in `folder` that no file has.
fs::path free_name(const fs::path& folder, const fs::path& name) {
  fs::path candidate = folder / name;
  for (int i = 1; fs::exists(candidate); ++i) candidate = folder / fmt::format("{}.{}", name.string(), i);
  return candidate;
}

/// Writes a text file that names a checkpoint in the same folder.
void write_name(const fs::path& path, const CheckpointFile& file) {
  publish_text(path.string(), fs::path(file.path).filename().string() + '\n');
}

}  // namespace

std::string run_folder(const std::string& path) {
  std::error_code failure;
  if (fs::exists(checkpoint_folder(path), failure)) return path;
  fs::path folder = fs::path(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "run/checkpoints/"
  if (folder == ".") folder = fs::current_path(failure);
  if (folder.filename() != folder_name) return path;
  return folder.has_parent_path() ? folder.parent_path().string() : ".";
}

std::string checkpoint_path(const std::string& folder, std::int64_t step) {
  return (checkpoint_folder(folder) / fmt::format("{}{:010d}{}", prefix, step, suffix)).string();
}

std::vector<CheckpointFile> list_checkpoints(const std::string& folder) {
  std::vector<CheckpointFile> files;
  std::error_code failure;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    const auto step = step_of(entry.path().filename().string());
    if (!step) continue;
    const fs::file_status status = entry.status(failure);
    if (!fs::status_known(status))
      fail_run(errors::cannot_read, "{}: cannot be read: {}", entry.path().string(), failure.message());
    if (fs::is_regular_file(status)) files.push_back({*step, entry.path().string()});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return files;
}

RestartChoice find_checkpoint(RankGroup& ranks, const std::string& folder, const std::string& restart,
                              std::int64_t below) {
  RestartChoice choice;
  run_on_first(ranks, [&] { choice = choose(folder, restart, below); });
  ranks.broadcast(&choice.step, sizeof choice.step, 0);
  const std::string path = broadcast_text(ranks, choice.path.value_or(""));
  choice.path = path.empty() ? std::nullopt : std::optional(path);
  std::string messages;
  for (const std::string& message : choice.messages) messages += message + '\n';
  messages = broadcast_text(ranks, messages);
  choice.messages.clear();
  for (std::size_t end = 0; (end = messages.find('\n')) != std::string::npos; messages.erase(0, end + 1)) {
    choice.messages.push_back(messages.substr(0, end));
  }
  return choice;
}

void require_unused_folder(RankGroup& ranks, const std::string& folder) {
  run_on_first(ranks, [&] {
    const auto files = list_checkpoints(folder);
    if (files.empty()) return;
    fail_input(
        errors::folder_has_checkpoints,
        "{} has checkpoints of an earlier run (the newest: {}): resume from there with --restart latest, or "
        "give another run.folder",
        folder, fs::path(files.back().path).filename().string());
  });
}

std::vector<std::string> set_aside_newer(RankGroup& ranks, const std::string& folder, std::int64_t step) {
  std::vector<std::string> moved;
  run_on_first(ranks, [&] {
    remove_half_written(folder);
    const fs::path aside = checkpoint_folder(folder) / "superseded";
    for (const CheckpointFile& file : list_checkpoints(folder)) {
      if (file.step <= step) continue;
      const fs::path name = fs::path(file.path).filename();
      std::error_code failure;
      fs::create_directories(aside, failure);
      if (!failure) fs::rename(file.path, free_name(aside, name), failure);
      if (failure)
        fail_run(errors::cannot_write, "{}: cannot be moved to {}: {}", file.path, aside.string(),
                 failure.message());
      moved.push_back(name.string());
    }
    if (!fs::exists(checkpoint_folder(folder))) return;
    name_latest(folder);
    if (!best_checkpoint(folder)) forget_best(folder);
  });
  return moved;
}

void name_latest(const std::string& folder) {
  const fs::path latest = checkpoint_folder(folder) / "latest";
  const auto files = list_checkpoints(folder);
  if (files.empty()) {
    std::error_code failure;
    fs::remove(latest, failure);
    return;
  }
  write_name(latest, files.back());
}

bool name_best(const std::string& folder, std::int64_t step) {
  const auto files = list_checkpoints(folder);
  const auto found = std::find_if(files.begin(), files.end(),
                                  [step](const CheckpointFile& file) { return file.step == step; });
  if (found == files.end()) return false;
  if (const auto named = best_checkpoint(folder); !named || named->step != step)
    write_name(checkpoint_folder(folder) / "best", *found);
  return true;
}

void forget_best(const std::string& folder) {
  std::error_code failure;
  fs::remove(checkpoint_folder(folder) / "best", failure);
}

std::optional<CheckpointFile> best_checkpoint(const std::string& folder) {
  const auto text = text_of_file((checkpoint_folder(folder) / "best").string(), max_name_bytes);
  if (!text) return std::nullopt;
  const std::string name = text->substr(0, text->find_first_of(" \t\r\n"));
  for (const CheckpointFile& file : list_checkpoints(folder)) {
    if (fs::path(file.path).filename() == name) return file;
  }
  return std::nullopt;
}

void delete_old_checkpoints(const std::string& folder, const CheckpointOptions& options) {
  remove_half_written(folder);
  const auto files = list_checkpoints(folder);
  if (options.keep_last == 0) return;
  const auto best = best_checkpoint(folder);
  const auto kept = std::min(files.size(), static_cast<std::size_t>(options.keep_last));
  const std::int64_t first_regular = options.keep_last_regular ? first_of_last_regular(files, options) : -1;
  for (std::size_t i = 0; i + kept < files.size(); ++i) {
    if (first_regular >= 0 && files[i].step >= first_regular && files[i].step % options.every == 0) continue;
    if (options.keep_every > 0 && files[i].step % options.keep_every == 0) continue;
    if (best && files[i].step == best->step) continue;
    std::error_code failure;
    fs::remove(files[i].path, failure);
    if (failure)
      fail_run(errors::cannot_write, "{}: cannot be deleted: {}", files[i].path, failure.message());
  }
}

}  // namespace mylos
