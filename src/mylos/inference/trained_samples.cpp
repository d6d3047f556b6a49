#include "mylos/inference/trained_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/inference/stored/other_grid.hpp"

namespace mylos {
namespace {

/// Returns what the file says of the samples that the network was trained on. Checkpoints of earlier builds
/// say nothing, and those with a grid of the deck no grid of the file: then the training file is read, where
/// it still lies where the deck has it. Another file may have taken its place.
SampleMeaning meaning_of_training(const StoredNetwork& network, const DataOptions& written) {
  const ModelOptions& model = network.options.model;
  SampleMeaning meaning = network.samples;
  meaning.data = fmt::format("the training data of {}", network.path);
  meaning.deck_grid = written.shape;
  meaning.file = written.train.text();
  if (!written.shape.empty()) meaning.grid.clear();
  if (written.arrays.given() || written.train.names.size() != 1) return meaning;
  const std::string& path = written.train.names.front();
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) return meaning;
  try {
    const Dataset file(path, GroundTruth::optional);
    const std::optional<std::string> identity = file.stored_identity();
    const bool is_same =
        identity ? *identity == network.training.identity
                 : file.features() == model.inputs && (model.outputs == 0 || file.outputs() == model.outputs);
    if (!is_same) return meaning;
    if (meaning.grid.empty()) meaning.grid = file.grid();
    if (meaning.class_names.empty()) meaning.class_names = file.class_names();
  } catch (const Error& error) {  // the training file is not evaluated: it may be another one now
    if (error.id() == errors::cannot_read) throw;
  }
  return meaning;
}

}  // namespace

void match_samples(const DataOptions& written, const std::vector<std::int64_t>& other_grid,
                   OpenedNetwork& opened) {
  SampleMeaning meaning = meaning_of_training(opened.network, written);
  const std::vector<std::int64_t> trained_grid = meaning.grid.empty() ? meaning.deck_grid : meaning.grid;
  if (!other_grid.empty()) meaning.grid = other_grid;  // the network works on that one too
  opened.notes = opened.data->match(meaning);
  if (!other_grid.empty()) {
    opened.notes.push_back(fmt::format("{}: its samples are {}, those of the training were {}",
                                       opened.data->path(), text_of_shape(other_grid),
                                       text_of_shape(trained_grid)));
  }
  const SampleMeaning own = opened.data->meaning();
  SampleMeaning& samples = opened.network.samples;
  for (const auto names :
       {&SampleMeaning::class_names, &SampleMeaning::input_names, &SampleMeaning::target_names})
    samples.*names = (own.*names).empty() ? meaning.*names : own.*names;
}

std::string names_of_inputs(const OpenedNetwork& opened) {
  const std::vector<std::string>& known = opened.network.samples.input_names;
  const std::vector<std::string> given = opened.data->meaning().input_names;
  if (known.empty() || given.empty()) return "";
  return fmt::format("; it has {}, the network {}", list_of_names(given), list_of_names(known));
}

std::string describe_outside(RankGroup& ranks, const OpenedNetwork& opened, const EvaluationPass& pass,
                             DataPart part) {
  OutsideRange own = pass.outside_range();
  if (!opened.divided) return describe_outside(ranks, opened, own, part);
  const GridBox box = opened.divided->box(opened.network);
  const std::int64_t channels = opened.chain().inputs() / box.points();
  own.first_column = box.point_of_grid(own.first_column / channels) * channels + own.first_column % channels;
  // A sample counts once, whatever boxes have such inputs.
  std::vector<std::int64_t> counts(static_cast<std::size_t>(opened.data->samples(part)));
  for (const std::int64_t sample : pass.outside_samples()) counts[static_cast<std::size_t>(sample)] = 1;
  ranks.add_up(counts);
  const std::int64_t samples = std::ssize(counts) - std::ranges::count(counts, 0);
  return describe_outside(ranks, opened, own, part, samples);
}

std::string describe_outside(RankGroup& ranks, const OpenedNetwork& opened, const OutsideRange& own,
                             DataPart part, std::optional<std::int64_t> samples) {
  std::vector<OutsideRange> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof own);
  OutsideRange found;
  for (const OutsideRange& each : all) found.add(each);
  if (found.samples == 0) return "";
  if (samples) found.samples = *samples;
  const InputRange& range = opened.network.training.normalizer.input_range;
  const auto channel = static_cast<std::size_t>(found.first_column) % range.minimum.size();
  const std::vector<std::string>& names = opened.network.samples.input_names;
  const std::string column =
      names.empty() ? fmt::format("input {} (counted from 0)", found.first_column)
                    : printable(names[static_cast<std::size_t>(found.first_column) % names.size()]);
  return fmt::format(
      "{}: {} input{} in {} of {} samples lie{} outside the range of the training samples, the first in "
      "sample "
      "{} (counted from 0): {} is {}, in training {} to {}",
      opened.data->path(), found.values, found.values == 1 ? "" : "s", found.samples,
      opened.data->samples(part), found.values == 1 ? "s" : "", found.first_sample, column, found.first_value,
      static_cast<float>(range.minimum[channel]), static_cast<float>(range.maximum[channel]));
}

}  // namespace mylos
