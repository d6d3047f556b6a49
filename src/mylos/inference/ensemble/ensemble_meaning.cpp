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
#include "mylos/config/deck.hpp"
#include "mylos/config/deck/difference.hpp"
#include "mylos/data/files/column_names.hpp"
#include "mylos/inference/network_state.hpp"
#include "mylos/inference/stored_network.hpp"

namespace mylos {
namespace {

/// Keys of [model] that change how a network is trained, not what it computes.
bool is_of_training(const std::string& key) {
  constexpr std::array<std::string_view, 4> keys{"model.dropout", "model.initialize", "model.label_smoothing",
                                                 "model.class_weights"};
  return std::any_of(keys.begin(), keys.end(), [&](std::string_view name) { return key.starts_with(name); });
}

void require_same_network(const MemberMeaning& first, const MemberMeaning& member) {
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
               member.names.path, first.names.path, key.key, key.after, key.before);
  }
}

void require_same_scaling(const MemberMeaning& first, const MemberMeaning& member) {
  if (first.targets == member.targets) return;
  if (first.targets.shift.size() != member.targets.shift.size()) {
    const auto text = [](const MemberMeaning& of) {
      return of.targets.identity() ? std::string("not scaled")
                                   : fmt::format("scaled in {} columns", of.targets.shift.size());
    };
    fail_input(errors::data_mismatch,
               "{}: its targets are {}, those of {} {}; train all members with one "
               "data.normalize",
               member.names.path, text(member), first.names.path, text(first));
  }
  for (std::size_t i = 0; i < first.targets.shift.size(); ++i) {
    const auto pair = [i](const MemberMeaning& of) {
      return fmt::format("({:.9g}, {:.9g})", of.targets.shift[i], of.targets.scale[i]);
    };
    if (pair(first) == pair(member) && i + 1 < first.targets.shift.size()) continue;
    fail_input(errors::data_mismatch,
               "{}: its targets are scaled otherwise than those of {}: shift and scale of column {} (counted "
               "from 0) are {}, not {}; train all members with the same data.normalize and data.validation",
               member.names.path, first.names.path, i, pair(member), pair(first));
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

void require_same_names(const MemberNames& first, const MemberNames& member) {
  const auto compare = [&](const char* what, const std::vector<std::string>& ours,
                           const std::vector<std::string>& theirs) {
    if (ours.empty() || theirs.empty() || ours == theirs) return;
    fail_input(errors::bad_names, "{}: its {} are {}, those of {} are {}; all members must have the same",
               member.path, what, list_of_names(theirs), first.path, list_of_names(ours));
  };
  compare("inputs", first.inputs, member.inputs);
  compare("targets", first.targets, member.targets);
  compare("classes", first.classes, member.classes);
}

MemberMeaning read_member_meaning(const CheckpointReader& reader) {
  const StoredData data = read_stored_data(reader);
  MemberMeaning meaning;
  meaning.names = {.path = reader.path(),
                   .inputs = stored_names(reader, "/samples/input_names"),
                   .targets = stored_names(reader, "/samples/target_names"),
                   .classes = stored_names(reader, "/samples/class_names")};
  meaning.options = read_stored_deck(reader.header().deck, reader.path()).options;
  meaning.identity = data.identity;
  meaning.targets = data.normalizer.targets;
  return meaning;
}

void require_same_meaning(const MemberMeaning& first, const MemberMeaning& member) {
  require_same_network(first, member);
  require_same_names(first.names, member.names);
  if (first.identity != member.identity) {
    fail_input(errors::data_mismatch,
               "{}: was trained on other data than {}: {} of digest {}, not {} of digest {}",
               member.names.path, first.names.path, member.options.data.train.text(), member.identity,
               first.options.data.train.text(), first.identity);
  }
  require_same_scaling(first, member);
}

}  // namespace mylos
