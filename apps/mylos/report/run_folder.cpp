#include "run_folder.hpp"

#include <fmt/ranges.h>

#include <filesystem>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/io/files/file_pieces.hpp"

namespace mylos::app {
namespace {

namespace fs = std::filesystem;

// A deck.toml may belong to the user: it does not identify a run.
constexpr const char* files_of_a_run[] = {"history.csv", "summary.json", "plan.json", "resolved.toml"};

bool is_run(const std::string& folder) {
  std::error_code failure;
  for (const char* name : files_of_a_run)
    if (fs::is_regular_file(fs::path(folder) / name, failure)) return true;
  return !list_checkpoints(folder).empty();
}

/// Members with the names of this version are shown, from any version.
void note_other_version(const ordered_json& document, const KnownDocument& known, ordered_json& notes) {
  const std::string format = text_member(document, "format");
  const double version = number_member(document, "version", known.version);
  if (format.empty() || (format == known.format && version == known.version)) return;
  notes.push_back(
      fmt::format("{}: is \"{}\", version {}, and this program knows \"{}\", version {}: shown as far as it "
                  "is understood",
                  known.file, format.substr(0, max_shown_bytes), version, known.format, known.version));
}

}  // namespace

std::string open_run_folder(const std::string& path) {
  std::error_code failure;
  if (!fs::exists(path, failure))
    fail_input(errors::no_such_folder, "{}: there is no such folder{}", printable(path, 300),
               current_folder_note(path));
  if (!fs::is_directory(path, failure))
    fail_input(errors::not_a_folder, "{}: is a file; name the run's folder", printable(path, 300));
  std::string folder = run_folder(path);
  if (!is_run(folder))
    fail_input(errors::wrong_format, "{}: is not a run's folder: it has none of {}, checkpoints/step-*.h5",
               printable(path, 300), fmt::join(files_of_a_run, ", "));
  return folder;
}

std::string last_name(const std::string& folder) {
  std::error_code failure;
  fs::path path = fs::absolute(folder, failure).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

SmallFile read_small_file(const std::string& path, std::size_t max_bytes) {
  SmallFile file;
  file.exists = read_in_pieces(path, [&](std::string_view piece) {
    if (!file.problem.empty()) return;
    if (file.text.size() + piece.size() <= max_bytes) {
      file.text += piece;
    } else {
      file.text.clear();
      file.problem = "is larger than " + format_bytes(static_cast<std::int64_t>(max_bytes));
    }
  });
  return file;
}

ordered_json read_document(const std::string& folder, const DocumentFile& file, const Requirement& is_sound,
                           ordered_json& notes) {
  SmallFile small = read_small_file(folder + "/" + file.name, file.max_bytes);
  if (!small.exists) return nullptr;
  if (small.problem.empty()) {
    ordered_json document = ordered_json::parse(small.text, nullptr, false);
    if (is_sound(document)) return document;
    small.problem = fmt::format("is not whole, or no {}", file.what);
  }
  notes.push_back(fmt::format("{}: {}: left out", file.name, small.problem));
  return nullptr;
}

ordered_json read_object(const std::string& folder, const KnownDocument& known, ordered_json& notes) {
  const auto is_object = [](const ordered_json& document) { return document.is_object(); };
  ordered_json document = read_document(folder, {known.file, "JSON", known.max_bytes}, is_object, notes);
  if (document.is_object()) note_other_version(document, known, notes);
  return document;
}

bool read_table(const std::string& folder, const std::string& name, CsvRows& rows, bool runs_on,
                ordered_json& notes) {
  if (!read_in_pieces(folder + "/" + name, [&](std::string_view piece) { rows.feed(piece); })) return false;
  if (rows.rows() + rows.damaged() > 0 && !rows.has(0)) {
    notes.push_back(fmt::format("{}: has no column \"step\", as every version's has: left out", name));
    return true;
  }
  note_damaged(name, rows.damaged(), "row", notes);
  if (rows.ends_within_row() && !runs_on)
    notes.push_back(fmt::format("{}: ends within a row, which was left out", name));
  return true;
}

void note_damaged(const std::string& file, std::int64_t count, const char* what, ordered_json& notes) {
  if (count > 0)
    notes.push_back(fmt::format("{}: {} damaged {}{} left out", file, count, what, count == 1 ? "" : "s"));
}

}  // namespace mylos::app
