#include "mylos/inference/ensemble/ensemble_meaning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/config/deck/difference.hpp"
#include "mylos/data/files/meaning/column_names.hpp"

namespace mylos {
namespace {

/// Keys of [model] that change how a network is trained, not what it computes.
bool is_of_training(const std::string& key) {
  constexpr std::array<std::string_view, 4> keys{"model.dropout", "model.initialize", "model.label_smoothing",
                                                 "model.class_weights"};
  return std::any_of(keys.begin(), keys.end(), [&](std::string_view name) { return key.starts_with(name); });
}

void require_same_network(const StoredNetwork& first, const StoredNetwork& member) {
  Options ours = first.options;
  Options theirs = member.options;
  for (Options* options : {&ours, &theirs}) {
    for (LayerOptions& layer : options->model.chain) layer.dropout = 0;
  }
  for (const KeyDifference& key : differing_keys(ours, theirs)) {
    if (!key.key.starts_with("model.") || is_of_training(key.key)) continue;
    fail_input(errors::model_mismatch,
               "{}: is another network than {}: its {} is {}, not {}; the members of an ensemble differ in "
               "their weights alone",
               member.path, first.path, key.key, key.after, key.before);
  }
}

const ColumnScaling& targets_of(const StoredNetwork& member) {
  return member.training.normalizer.targets;
}

void require_same_scaling(const StoredNetwork& first, const StoredNetwork& member) {
  if (targets_of(first) == targets_of(member)) return;
  if (targets_of(first).shift.size() != targets_of(member).shift.size()) {
    const auto text = [](const StoredNetwork& of) {
      return targets_of(of).identity() ? std::string("not scaled")
                                       : fmt::format("scaled in {} columns", targets_of(of).shift.size());
    };
    fail_input(errors::data_mismatch,
               "{}: its targets are {}, those of {} {}; train all members with one "
               "data.normalize",
               member.path, text(member), first.path, text(first));
  }
  for (std::size_t i = 0; i < targets_of(first).shift.size(); ++i) {
    const auto pair = [i](const StoredNetwork& of) {
      return fmt::format("({:.9g}, {:.9g})", targets_of(of).shift[i], targets_of(of).scale[i]);
    };
    if (pair(first) == pair(member) && i + 1 < targets_of(first).shift.size()) continue;
    fail_input(errors::data_mismatch,
               "{}: its targets are scaled otherwise than those of {}: shift and scale of column {} (counted "
               "from 0) are {}, not {}; train all members with the same data.normalize and data.validation",
               member.path, first.path, i, pair(member), pair(first));
  }
}

}  // namespace

std::optional<std::size_t> repeated_file(const std::vector<std::string>& paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before) {
      std::error_code failure;
      if (paths[i] == paths[before] || std::filesystem::equivalent(paths[i], paths[before], failure))
        return i;
    }
  }
  return std::nullopt;
}

void require_same_names(const StoredNetwork& first, const StoredNetwork& member) {
  const auto compare = [&](const char* what, const std::vector<std::string>& ours,
                           const std::vector<std::string>& theirs) {
    if (ours.empty() || theirs.empty() || ours == theirs) return;
    fail_input(errors::bad_names, "{}: its {} are {}, those of {} are {}; all members must have the same",
               member.path, what, list_of_names(theirs), first.path, list_of_names(ours));
  };
  compare("inputs", first.samples.input_names, member.samples.input_names);
  compare("targets", first.samples.target_names, member.samples.target_names);
  compare("classes", first.samples.class_names, member.samples.class_names);
}

void require_same_meaning(const StoredNetwork& first, const StoredNetwork& member) {
  require_same_network(first, member);
  require_same_names(first, member);
  if (first.training.identity != member.training.identity) {
    fail_input(errors::data_mismatch,
               "{}: was trained on other data than {}: {} of digest {}, not {} of digest {}", member.path,
               first.path, member.options.data.train.text(), member.training.identity,
               first.options.data.train.text(), first.training.identity);
  }
  require_same_scaling(first, member);
}

}  // namespace mylos
