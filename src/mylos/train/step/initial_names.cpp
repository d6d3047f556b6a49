#include "mylos/train/step/initial_names.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/numbers/nearest.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {
namespace {

constexpr std::size_t longest_tensor_name = 1000;  // bytes, of a tensor that a pattern may match

}  // namespace

LocalNames::LocalNames(const WeightFile& file, const InitialOptions& options, const Places& places)
    : file_(file),
      options_(options),
      places_(places),
      used_(options.rename.size()),
      overridden_(options.rename.size()) {
  const std::vector<WeightEntry>& entries = file.entries();
  for (std::size_t i = 0; i < entries.size(); ++i) add(entries[i].name, i);
}

std::optional<std::size_t> LocalNames::find(const std::string& parameter) const {
  const auto found = entries_.find(parameter);
  return found == entries_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> LocalNames::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

void LocalNames::require_use(const std::vector<std::string>& parameters) const {
  for (std::size_t i = 0; i < options_.rename.size(); ++i) {
    const RenameRule& rule = options_.rename[i];
    if (used_[i].empty() && overridden_[i]) {
      fail_input(errors::key_without_effect,
                 "{}'{}': later rules match all tensors that it matches, and the last rule that matches "
                 "applies; leave it out",
                 where(i), printable(rule.from));
    }
    if (used_[i].empty()) {
      fail_input(errors::unknown_name, "{}'{}' matches no tensor of {}; near ones are {}", where(i),
                 printable(rule.from), file_.path(),
                 printable(nearest_names(rule.from, names_of_file()), 200));
    }
    const bool serves = std::any_of(used_[i].begin(), used_[i].end(), [&](const std::string& name) {
      return std::find(parameters.begin(), parameters.end(), name) != parameters.end();
    });
    if (!serves) {
      fail_input(errors::unknown_name,
                 "{}'{}' gives '{}', which is not a parameter of this model; near ones are {}", where(i),
                 printable(rule.to), printable(used_[i].front()),
                 nearest_names(used_[i].front(), parameters));
    }
  }
}

std::string LocalNames::where(std::size_t rule) const {
  return place_of(places_, {fmt::format("initial.rename.{}", rule + 1), "initial.rename"}) +
         "initial.rename: ";
}

std::vector<std::string> LocalNames::names_of_file() const {
  std::vector<std::string> names;
  for (const WeightEntry& entry : file_.entries()) {
    if (entry.name.size() <= longest_tensor_name) names.push_back(entry.name);
  }
  return names;
}

void LocalNames::add(const std::string& name, std::size_t entry) {
  if (name.size() > longest_tensor_name) return;
  std::string here = file_.parameter_name(name);
  bool is_renamed = false;
  for (std::size_t i = options_.rename.size(); i-- > 0;) {
    const auto other = renamed(options_.rename[i].from, options_.rename[i].to, name);
    if (!other) continue;
    if (is_renamed) {
      overridden_[i] = true;
      continue;
    }
    is_renamed = true;
    here = *other;
    used_[i].push_back(here);
  }
  const auto [entry_of_name, is_new] = entries_.emplace(here, entry);
  if (is_new) return;
  fail_input(errors::duplicate_key,
             "{}: tensors '{}' and '{}' would both be named '{}'; change initial.rename", file_.path(),
             printable(file_.entries()[entry_of_name->second].name), printable(name), printable(here));
}

std::string note_on_gpt2(const WeightFile& file) {
  const auto is_embedding = [](const WeightEntry& entry) {
    return entry.name == "wte.weight" || entry.name == "transformer.wte.weight";
  };
  if (file.is_checkpoint() || std::none_of(file.entries().begin(), file.entries().end(), is_embedding))
    return "";
  return fmt::format(
      "; it looks like Hugging Face's GPT-2, of which `mylos convert {} gpt2.h5` makes a "
      "checkpoint to begin with",
      file.path());
}

void refuse_missing(const WeightFile& file, const std::vector<std::string>& missing,
                    const LocalNames& names) {
  constexpr std::size_t most = 8;
  std::vector<std::string> listed(
      missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(std::min(most, missing.size())));
  std::string more = missing.size() > most ? fmt::format(" and {} more", missing.size() - most) : "";
  fail_input(
      errors::model_mismatch,
      "{}: has no {}{}, which this model needs; nearest to {} are {} there. [[initial.rename]] gives tensors "
      "other names, and initial.missing = \"draw\" draws what is missing{}",
      file.path(), fmt::join(listed, ", "), more, missing.front(),
      printable(nearest_names(missing.front(), names.names()), 200), note_on_gpt2(file));
}

std::string weights_in(RankGroup& ranks, const std::string& path) {
  std::error_code failure;
  char is_folder = std::filesystem::is_directory(path, failure) ? 1 : 0;
  ranks.broadcast(&is_folder, sizeof is_folder, 0);
  if (is_folder == 0) return path;
  const RestartChoice found = find_checkpoint(ranks, run_folder(path), "auto");
  if (found.path) return *found.path;
  fail_input(errors::no_checkpoint,
             "run.initial: {}: is a folder with no valid checkpoint in {}/checkpoints{}{}", path,
             run_folder(path), found.messages.empty() ? "" : ": ", fmt::join(found.messages, "; "));
}

}  // namespace mylos
