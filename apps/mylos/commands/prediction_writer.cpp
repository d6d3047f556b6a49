#include "commands/prediction_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "commands/array_predictions.hpp"
#include "commands/input_flags_file.hpp"
#include "commands/output_name.hpp"
#include "commands/replaced_file.hpp"
#include "launch/standard_output.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/run/data_paths.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos::app {
namespace {

PredictionShape shape_of(const PredictedNetwork& predicted) {
  const Prediction prediction = predicted.opened.network.chain.prediction();
  const bool of_classes = prediction == Prediction::classes;
  return {.samples = predicted.opened.data->samples(DataPart::train),
          .outputs = predicted.opened.network.chain.outputs(),
          .meaning = meaning_of(prediction),
          .names = of_classes ? predicted.opened.network.samples.class_names
                              : predicted.opened.network.samples.target_names,
          .names_path = of_classes ? "/class_names" : "/target_names",
          .unnamed = of_classes ? "class" : "target",
          .checkpoint = predicted.checkpoint,
          .parts = predicted.parts,
          .extents = extents_of_samples(predicted.opened.network)};
}

std::unique_ptr<PredictionFile> file_for(const PredictedNetwork& predicted, const std::string& path) {
  const ArrayOptions& options = predicted.opened.network.options.data.arrays;
  const auto arrays = predicted.opened.data->arrays(DataPart::train);
  if (arrays != nullptr && !is_table(path) && has_layout_of_predictions(*arrays, options)) {
    require_array_name(path);
    return make_array_predictions(path, *arrays, options, predicted.checkpoint, predicted.parts);
  }
  return make_prediction_file(path, shape_of(predicted));
}

/// Returns "12 of 200 outputs, in 6 of 100 rows, are inf or NaN, ..."
std::string text_of(const NonFinite& found, const PredictedNetwork& predicted) {
  const std::int64_t rows = predicted.opened.data->samples(DataPart::train);
  const bool half = predicted.opened.network.options.precision.compute == DType::fp16;
  return fmt::format(
      "{} of {} outputs, in {} of {} rows, are inf or NaN, the first in row {}, column {} (counted from 0){}",
      found.outputs, rows * predicted.opened.network.chain.outputs(), found.rows, rows, found.first_row,
      found.first_column,
      half ? "; fp16, in which the network computes, ends at 65504: bf16 and fp32 go further" : "");
}

}  // namespace

PredictionWriter::PredictionWriter(const PredictedNetwork& predicted, const std::string& path)
    : predicted_(predicted), file_(file_for(predicted, path)) {}

const PredictionWriter::Part& PredictionWriter::part_of(const GridPart& part) {
  const auto found = std::ranges::find(parts_, part, &Part::part);
  if (found != parts_.end()) return *found;
  const StoredNetwork& network = predicted_.opened.network;
  return parts_.emplace_back(Part{part, box_of_samples(network, part), normalizer_of(network, part)});
}

void PredictionWriter::undo_scaling(const Normalizer& normalizer, std::span<float> values) const {
  if (is_of_numbers(predicted_.opened.network.chain.prediction())) normalizer.undo_targets(values);
}

void PredictionWriter::count_nonfinite(const ComputedSamples& samples, std::span<const float> values) {
  if (samples.part.is_split()) {
    nonfinite_in_boxes_.count(samples, values, part_of(samples.part).box);
  } else {
    nonfinite_.count(samples.first, values, predicted_.opened.network.chain.outputs());
  }
}

void PredictionWriter::write(const ComputedSamples& samples, std::span<float> values,
                             const StatedOutputs& stated) {
  const Normalizer& normalizer = samples.part.is_split() ? part_of(samples.part).normalizer
                                                         : predicted_.opened.network.training.normalizer;
  const std::span<float> deviations = stated.deviations;
  undo_scaling(normalizer, values);
  if (is_of_numbers(predicted_.opened.network.chain.prediction()))
    interpret_deviations(normalizer, deviations);
  file_->write({PredictionPart::mean}, samples, values);
  if (!deviations.empty()) file_->write({PredictionPart::standard_deviation}, samples, deviations);
  if (predicted_.calibration != nullptr) write_bounds(samples, values, deviations);
  undo_scaling(normalizer, stated.quantiles);
  for (std::size_t level = 0; level * values.size() < stated.quantiles.size(); ++level)
    file_->write({PredictionPart::quantile, static_cast<std::int64_t>(level)}, samples,
                 stated.quantiles.subspan(level * values.size(), values.size()));
  // An output counts once, whether it or what is stated of it is not finite.
  for (const std::span<const float> all : {deviations, stated.quantiles})
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!std::isfinite(all[i])) values[i % values.size()] = all[i];
  count_nonfinite(samples, values);
}

void PredictionWriter::write_member(std::int64_t member, const Share& samples, std::span<float> values) {
  undo_scaling(predicted_.opened.network.training.normalizer, values);
  file_->write({PredictionPart::member, member}, samples, values);
}

void PredictionWriter::write_bounds(const ComputedSamples& samples, std::span<const float> values,
                                    std::span<const float> deviations) {
  lower_.resize(values.size());
  upper_.resize(values.size());
  predicted_.calibration->bounds(values, deviations, lower_, upper_);
  file_->write({PredictionPart::lower}, samples, lower_);
  file_->write({PredictionPart::upper}, samples, upper_);
}

namespace {

/// Throws Error (bad_input) where the command line asks for what boxes of samples do not have.
void require_divisible(const OpenedNetwork& opened, const PredictArguments& arguments) {
  const std::string space = text_of_space(arguments.mesh);
  if (is_table(arguments.output) && !gives_vector(opened.network))
    fail_input(errors::bad_argument, "{}: a table has complete rows of samples, which no rank has; write {}",
               space, std::filesystem::path(arguments.output).replace_extension(".h5").string());
  if (!arguments.flags.empty())
    fail_input(errors::bad_argument,
               "{}: --flags compares whole samples with those of the training; leave one of them out", space);
}

}  // namespace

void require_predictable(const OpenedNetwork& opened, const PredictArguments& arguments) {
  const StoredNetwork& network = opened.network;
  if (network.training.vocabulary) {
    fail_input(
        errors::wrong_format,
        "{} is a network of tokens; use `mylos sample` to generate text, or `mylos eval` to measure its loss",
        network.path);
  }
  require_other_file(network.path, arguments.output);
  require_other_than_data(network.options.data, arguments.output);
  require_replaceable(arguments.output,
                      is_table(arguments.output) ? OutputKind::other : OutputKind::predictions);
  if (divides(arguments.mesh)) require_divisible(opened, arguments);
  if (arguments.flags.empty()) return;
  if (!is_table(arguments.flags))
    fail_input(errors::bad_argument, "--flags {}: is a table; its name ends in .csv", arguments.flags);
  require_other_file(network.path, arguments.flags);
  require_other_file(arguments.output, arguments.flags);
  require_other_than_data(network.options.data, arguments.flags);
  require_replaceable(arguments.flags, OutputKind::other);
}

void finish_predictions(RankGroup& ranks, const PredictedNetwork& predicted, PredictionWriter* writer,
                        const PredictArguments& arguments, const std::string& described,
                        const std::string& outside) {
  NonFinite nonfinite;
  if (writer != nullptr) nonfinite = writer->nonfinite();
  ranks.broadcast(&nonfinite, sizeof nonfinite, 0);
  if (nonfinite.outputs > 0 && !arguments.allow_nonfinite) {
    fail_run(errors::not_finite, "{}: is not written: {}; --allow-nonfinite writes them", arguments.output,
             text_of(nonfinite, predicted));
  }
  // Not by run_on_first: an HDF5 library for MPI may make MPI calls.
  run_on_all(ranks, [&] {
    if (writer != nullptr) writer->file().close();
  });
  run_on_first(ranks, [&] { writer->file().publish(); });
  const std::string flags =
      arguments.flags.empty() ? "" : write_input_flags(ranks, predicted.opened, arguments.flags);
  const std::int64_t samples = predicted.opened.data->samples(DataPart::train);
  const Output output = standard_output(ranks.rank());
  for (const std::string& note : predicted.opened.notes) output.line(note);
  if (!outside.empty()) output.line(outside);
  if (!flags.empty()) output.line(flags);
  output.line(fmt::format("{}: {} of {} samples, [{}, {}]", arguments.output, described, samples, samples,
                          predicted.opened.network.chain.outputs()));
  if (nonfinite.outputs > 0) output.line(fmt::format("warning: {}", text_of(nonfinite, predicted)));
}

}  // namespace mylos::app
