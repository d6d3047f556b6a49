// mylos predict CKPT IN OUT: writes outputs [samples, outputs]: targets in their own units, or the
// probabilities of cross-entropies. Outputs that are inf or NaN are an error, and nothing is written, unless
// the user allows them. Of arrays as they lie in a file the outputs are written in its layout.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "commands/array_predictions.hpp"
#include "commands/output_name.hpp"
#include "commands/prediction_file.hpp"
#include "commands/trained_model.hpp"
#include "launch/standard_output.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/run/data_paths.hpp"
#include "mylos/inference/predict.hpp"
#include "mylos/inference/trained_samples.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos::app {
namespace {

PredictionParts parts_of(const TrainedModel& trained) {
  PredictionParts parts{.has_deviation = trained.model->chain().has_deviations(), .coverage = {}};
  if (trained.network.calibration) parts.coverage = trained.network.calibration->coverage;
  return parts;
}

PredictionShape shape_of(const TrainedModel& trained) {
  const Chain& chain = trained.model->chain();
  const bool of_classes = chain.loss() == LossType::cross_entropy;
  const bool of_probabilities = chain.loss() == LossType::binary_cross_entropy;
  return {.samples = trained.network.data->samples(DataPart::train),
          .outputs = chain.outputs(),
          .meaning = of_classes         ? "probability of each class"
                     : of_probabilities ? "probability of each target"
                                        : "targets in their own units",
          .names = of_classes ? trained.network.class_names : trained.network.target_names,
          .names_path = of_classes ? "/class_names" : "/target_names",
          .unnamed = of_classes ? "class" : "target",
          .checkpoint = trained.network.path,
          .parts = parts_of(trained)};
}

/// What rank 0 writes.
class Predictions {
 public:
  Predictions(const TrainedModel& trained, const std::string& path)
      : trained_(trained),
        loss_(trained.model->chain().loss()),
        outputs_(trained.model->chain().outputs()),
        file_(file_for(trained, path)) {}

  static std::unique_ptr<PredictionFile> file_for(const TrainedModel& trained, const std::string& path) {
    const ArrayOptions& options = trained.network.deck.options.data.arrays;
    const auto arrays = trained.network.data->arrays(DataPart::train);
    if (arrays != nullptr && !is_table(path) && has_layout_of_predictions(*arrays, options))
      return make_array_predictions(path, *arrays, options, trained.network.path, parts_of(trained));
    return make_prediction_file(path, shape_of(trained));
  }

  void write(const Share& samples, std::span<float> values, std::span<float> deviations) {
    interpret_outputs(loss_, outputs_, trained_.network.normalizer, values);
    interpret_deviations(trained_.network.normalizer, deviations);
    file_->write({PredictionPart::mean}, samples, values);
    if (!deviations.empty()) file_->write({PredictionPart::standard_deviation}, samples, deviations);
    if (trained_.network.calibration) write_bounds(samples, values, deviations);
    // An output counts once, whether it or its deviation is not finite.
    for (std::size_t i = 0; i < deviations.size(); ++i)
      if (!std::isfinite(deviations[i])) values[i] = deviations[i];
    nonfinite_.count(samples.first, values, outputs_);
  }

  [[nodiscard]] const NonFinite& nonfinite() const { return nonfinite_; }
  [[nodiscard]] PredictionFile& file() { return *file_; }

 private:
  void write_bounds(const Share& samples, std::span<const float> values, std::span<const float> deviations) {
    lower_.resize(values.size());
    upper_.resize(values.size());
    trained_.network.calibration->bounds(values, deviations, lower_, upper_);
    file_->write({PredictionPart::lower}, samples, lower_);
    file_->write({PredictionPart::upper}, samples, upper_);
  }

  const TrainedModel& trained_;
  LossType loss_;
  std::int64_t outputs_;
  std::unique_ptr<PredictionFile> file_;
  NonFinite nonfinite_;
  std::vector<float> lower_, upper_;
};

/// Returns "12 of 200 outputs, in 6 of 100 rows, are inf or NaN, ..."
std::string text_of(const NonFinite& found, const TrainedModel& trained) {
  const std::int64_t rows = trained.network.data->samples(DataPart::train);
  const bool half = trained.network.deck.options.precision.compute == DType::fp16;
  return fmt::format(
      "{} of {} outputs, in {} of {} rows, are inf or NaN, the first in row {}, column {} (counted from 0){}",
      found.outputs, rows * trained.model->chain().outputs(), found.rows, rows, found.first_row,
      found.first_column,
      half ? "; fp16, in which the network computes, ends at 65504: bf16 and fp32 go further" : "");
}

void check(const TrainedNetwork& trained, const PredictArguments& arguments) {
  if (trained.vocabulary) {
    fail_input(
        ErrorId::wrong_format,
        "{} is a network of tokens; use `mylos sample` to generate text, or `mylos eval` to measure its loss",
        trained.path);
  }
  require_other_file(trained.path, arguments.output);
  require_other_than_data(trained.deck.options.data, arguments.output);
}

}  // namespace

ExitCode predict_command(const PredictArguments& arguments) {
  const auto trained = open_trained_model(
      arguments.checkpoint, {.choose = [&](DataOptions& data) { choose_whole_file(data, arguments.input); },
                             .check = [&](const TrainedNetwork& opened) { check(opened, arguments); },
                             .answers = Answers::optional});
  RankGroup& ranks = trained->communicator->ranks();
  // Not by run_on_first: an HDF5 library for MPI may make MPI calls.
  const auto on_rank_0 = [&](const std::function<void()>& work) {
    run_on_all(ranks, [&] {
      if (ranks.rank() == 0) work();
    });
  };
  std::optional<Predictions> predictions;
  on_rank_0([&] { predictions.emplace(*trained, arguments.output); });
  const auto pass = trained->pass_over(DataPart::train);
  predict_distributions(trained->context(), ranks, *pass,
                        [&](const Share& samples, std::span<float> values, std::span<float> deviations) {
                          predictions->write(samples, values, deviations);
                        });
  NonFinite nonfinite;
  if (predictions) nonfinite = predictions->nonfinite();
  ranks.broadcast(&nonfinite, sizeof nonfinite, 0);
  const std::string outside = describe_outside(ranks, trained->network, *pass, DataPart::train);
  if (nonfinite.outputs > 0 && !arguments.allow_nonfinite) {
    fail_run(ErrorId::not_finite, "{}: is not written: {}; --allow-nonfinite writes them", arguments.output,
             text_of(nonfinite, *trained));
  }
  on_rank_0([&] { predictions->file().close(); });
  run_on_first(ranks, [&] { predictions->file().publish(); });
  const std::int64_t samples = trained->network.data->samples(DataPart::train);
  const Output output = standard_output(ranks.rank());
  for (const std::string& note : trained->network.notes) output.line(note);
  if (!outside.empty()) output.line(outside);
  output.line(fmt::format("{}: outputs of {} samples, [{}, {}]", arguments.output, samples, samples,
                          trained->model->chain().outputs()));
  if (nonfinite.outputs > 0) output.line(fmt::format("warning: {}", text_of(nonfinite, *trained)));
  return ExitCode::done;
}

}  // namespace mylos::app
