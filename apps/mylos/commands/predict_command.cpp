// mylos predict CKPT IN OUT: outputs [samples, outputs], targets in their own units; those of
// cross-entropies are probabilities. Numbers that are inf or NaN are an error, and nothing is written, unless
// the user allows them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "commands.hpp"
#include "commands/prediction_file.hpp"
#include "commands/trained_model.hpp"
#include "mylos/inference/trained_samples.hpp"
#include "launch/standard_output.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos::app {
namespace {

void softmax(std::span<float> row) {
  const float largest = *std::max_element(row.begin(), row.end());
  float sum = 0;
  for (float& value : row) sum += value = std::exp(value - largest);
  for (float& value : row) value /= sum;
}

/// Outputs that are inf or NaN.
struct NonFinite {
  std::int64_t outputs = 0;
  std::int64_t rows = 0;
  std::int64_t first_row = 0;
  std::int64_t first_column = 0;

  /// Rows [first, first + values.size() / width); pieces may come in any order.
  void count(std::int64_t first, std::span<const float> values, std::int64_t width) {
    std::int64_t last_row = -1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i])) continue;
      const std::int64_t row = first + static_cast<std::int64_t>(i) / width;
      if (outputs++ == 0 || row < first_row) {
        first_row = row;
        first_column = static_cast<std::int64_t>(i) % width;
      }
      if (row != last_row) ++rows;
      last_row = row;
    }
  }
};

PredictionShape shape_of(const TrainedModel& trained) {
  const Chain& chain = trained.model->chain();
  const bool of_classes = chain.loss() == LossType::cross_entropy;
  const bool of_probabilities = chain.loss() == LossType::binary_cross_entropy;
  return {.samples = trained.data->samples(DataPart::train),
          .outputs = chain.outputs(),
          .meaning = of_classes         ? "probability of each class"
                     : of_probabilities ? "probability of each target"
                                        : "targets in their own units",
          .names = of_classes ? trained.class_names : trained.target_names,
          .names_path = of_classes ? "/class_names" : "/target_names",
          .unnamed = of_classes ? "class" : "target",
          .checkpoint = trained.path};
}

/// What rank 0 makes of outputs and writes.
class Predictions {
 public:
  Predictions(const TrainedModel& trained, const std::string& path)
      : trained_(trained),
        loss_(trained.model->chain().loss()),
        outputs_(trained.model->chain().outputs()),
        file_(make_prediction_file(path, shape_of(trained))) {}

  void write(const Share& samples, std::span<float> values) {
    if (loss_ == LossType::binary_cross_entropy) {
      for (float& value : values) {
        if (std::isfinite(value)) value = 1 / (1 + std::exp(-value));  // else it is to be seen
      }
    } else if (loss_ == LossType::cross_entropy) {
      const auto width = static_cast<std::size_t>(outputs_);
      for (std::size_t row = 0; row < values.size(); row += width) softmax(values.subspan(row, width));
    } else {
      trained_.normalizer.undo_targets(values);
    }
    nonfinite_.count(samples.first, values, outputs_);
    file_->write(samples, values);
  }

  [[nodiscard]] const NonFinite& nonfinite() const { return nonfinite_; }
  [[nodiscard]] PredictionFile& file() { return *file_; }

 private:
  const TrainedModel& trained_;
  LossType loss_;
  std::int64_t outputs_;
  std::unique_ptr<PredictionFile> file_;
  NonFinite nonfinite_;
};

/// "12 of 200 outputs, in 6 of 100 rows, are inf or NaN, ..."
std::string text_of(const NonFinite& found, const TrainedModel& trained) {
  const std::int64_t rows = trained.data->samples(DataPart::train);
  const bool half = trained.deck.options.precision.compute == DType::fp16;
  return fmt::format(
      "{} of {} outputs, in {} of {} rows, are inf or NaN, the first in row {}, column {} (counted from 0){}",
      found.outputs, rows * trained.model->chain().outputs(), found.rows, rows, found.first_row,
      found.first_column,
      half ? "; fp16, in which the network computes, ends at 65504: bf16 and fp32 go further" : "");
}

void check(const TrainedModel& trained, const PredictArguments& arguments) {
  if (trained.vocabulary) {
    fail_input("{} is a network of tokens; `mylos sample` lets it write, `mylos eval` judges it",
               trained.path);
  }
  for (const auto& input : {arguments.input, trained.path}) require_other_file(input, arguments.output);
}

}  // namespace

ExitCode predict_command(const PredictArguments& arguments) {
  const auto trained = open_trained_model(
      arguments.checkpoint, [&](DataOptions& data) { choose_whole_file(data, arguments.input); },
      [&](const TrainedModel& opened) { check(opened, arguments); }, Answers::optional);
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
  predict(trained->context(), ranks, *pass,
          [&](const Share& samples, std::span<float> values) { predictions->write(samples, values); });
  NonFinite nonfinite;
  if (predictions) nonfinite = predictions->nonfinite();
  ranks.broadcast(&nonfinite, sizeof nonfinite, 0);
  const std::string outside = describe_outside(*trained, *pass, DataPart::train);
  if (nonfinite.outputs > 0 && !arguments.allow_nonfinite) {
    fail_run("{}: is not written: {}; --allow-nonfinite writes them", arguments.output,
             text_of(nonfinite, *trained));
  }
  on_rank_0([&] { predictions->file().close(); });
  run_on_first(ranks, [&] { predictions->file().publish(); });
  const std::int64_t samples = trained->data->samples(DataPart::train);
  const Output output = standard_output(ranks.rank());
  for (const std::string& note : trained->notes) output.line(note);
  if (!outside.empty()) output.line(outside);
  output.line(fmt::format("{}: outputs of {} samples, [{}, {}]", arguments.output, samples, samples,
                          trained->model->chain().outputs()));
  if (nonfinite.outputs > 0) output.line(fmt::format("warning: {}", text_of(nonfinite, *trained)));
  return ExitCode::done;
}

}  // namespace mylos::app
