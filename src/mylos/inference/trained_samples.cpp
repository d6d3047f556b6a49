#include "mylos/inference/trained_samples.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/inference/grids/other_grid.hpp"
#include "mylos/inference/stored_network.hpp"

namespace mylos {
namespace {

constexpr const char* input_names_path = "/samples/input_names";

/// Returns what the checkpoint says of the samples that the network was trained on. Checkpoints of earlier
/// builds say nothing, and those with a grid of the deck no grid of the file: then the training file is read,
/// where it still lies where the deck has it. Another file may have taken its place.
SampleMeaning meaning_of_training(const CheckpointReader& reader, const DataOptions& written,
                                  const ModelOptions& model) {
  SampleMeaning meaning{.data = fmt::format("the training data of {}", reader.path()),
                        .deck_grid = written.shape,
                        .class_names = stored_names(reader, "/samples/class_names"),
                        .file = written.train.text(),
                        .input_names = stored_names(reader, input_names_path),
                        .target_names = stored_names(reader, "/samples/target_names")};
  if (written.shape.empty()) meaning.grid = stored_grid(reader);
  if (written.arrays.given() || written.train.names.size() != 1) return meaning;
  const std::string& path = written.train.names.front();
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) return meaning;
  try {
    const Dataset file(path, Answers::optional);
    const std::optional<std::string> identity = file.stored_identity();
    const bool is_same =
        identity ? *identity == reader.text("/data/identity")
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

void match_samples(const CheckpointReader& reader, const DataOptions& written, TrainedNetwork& trained) {
  SampleMeaning meaning = meaning_of_training(reader, written, trained.deck.options.model);
  const std::vector<std::int64_t> trained_grid = meaning.grid.empty() ? meaning.deck_grid : meaning.grid;
  if (!trained.other_grid.empty()) meaning.grid = trained.other_grid;  // the network works on that one too
  trained.notes = trained.data->match(meaning);
  if (!trained.other_grid.empty()) {
    trained.notes.push_back(fmt::format("{}: its samples are {}, those of the training were {}",
                                        trained.data->path(), text_of_shape(trained.other_grid),
                                        text_of_shape(trained_grid)));
  }
  const SampleMeaning own = trained.data->meaning();
  const auto known = [](std::vector<std::string>& trained_on, const std::vector<std::string>& given) {
    return given.empty() ? std::move(trained_on) : given;
  };
  trained.class_names = known(meaning.class_names, own.class_names);
  trained.input_names = known(meaning.input_names, own.input_names);
  trained.target_names = known(meaning.target_names, own.target_names);
}

std::string names_of_inputs(const CheckpointReader& reader, const TrainedNetwork& trained) {
  const std::vector<std::string> known = stored_names(reader, input_names_path);
  const std::vector<std::string> given = trained.data->meaning().input_names;
  if (known.empty() || given.empty()) return "";
  return fmt::format("; it has {}, the network {}", list_of_names(given), list_of_names(known));
}

std::string describe_outside(RankGroup& ranks, const TrainedNetwork& trained, const EvaluationPass& pass,
                             DataPart part) {
  return describe_outside(ranks, trained, pass.outside_range(), part);
}

std::string describe_outside(RankGroup& ranks, const TrainedNetwork& trained, const OutsideRange& own,
                             DataPart part) {
  std::vector<OutsideRange> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof own);
  OutsideRange found;
  for (const OutsideRange& each : all) found.add(each);
  if (found.samples == 0) return "";
  const InputRange& range = trained.normalizer.input_range;
  const auto channel = static_cast<std::size_t>(found.first_column) % range.minimum.size();
  const std::vector<std::string>& names = trained.input_names;
  const std::string column =
      names.empty() ? fmt::format("input {} (counted from 0)", found.first_column)
                    : printable(names[static_cast<std::size_t>(found.first_column) % names.size()]);
  return fmt::format(
      "{}: {} input{} in {} of {} samples lie{} outside the range of the training samples, the first in "
      "sample "
      "{} (counted from 0): {} is {}, in training {} to {}",
      trained.data->path(), found.values, found.values == 1 ? "" : "s", found.samples,
      trained.data->samples(part), found.values == 1 ? "s" : "", found.first_sample, column,
      found.first_value, static_cast<float>(range.minimum[channel]),
      static_cast<float>(range.maximum[channel]));
}

}  // namespace mylos
