// mylos predict --ensemble CKPT CKPT ... IN OUT, and mylos predict --mc-dropout N CKPT IN OUT: writes mean
// and standard deviation of the outputs of several networks, or of one with several dropout masks.
#include <fmt/format.h>

#include <optional>

#include "commands.hpp"
#include "commands/prediction_writer.hpp"
#include "commands/uncertain_model.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/ensemble/ensemble_calibration.hpp"
#include "mylos/inference/trained_samples.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos::app {
namespace {

/// Returns the arguments with input and output, which are the last two words if the network is an ensemble.
PredictArguments with_input_and_output(PredictArguments arguments) {
  if (!arguments.members.ensemble) return arguments;
  std::vector<std::string>& more = arguments.members.more;
  more.insert(more.begin(), {arguments.input, arguments.output});
  arguments.output = more.back();
  more.pop_back();
  arguments.input = more.back();
  more.pop_back();
  return arguments;
}

}  // namespace

ExitCode predict_members(const PredictArguments& given) {
  const PredictArguments arguments = with_input_and_output(given);
  const UncertainModel model = open_uncertain_model(
      arguments.checkpoint, arguments.members.more, arguments.members,
      {.choose = [&](DataOptions& data) { choose_whole_file(data, arguments.input); },
       .check = [&](const OpenedNetwork& opened) { require_predictable(opened, arguments); },
       .truth = GroundTruth::optional},
      DataPart::train);
  RankGroup& ranks = model.open->communicator->ranks();
  const std::int64_t width = model.pass->width();
  const EnsembleCalibration known =
      read_ensemble_calibration(ranks, model.members, Calibrated::ensemble_predictions);
  const std::optional<ConformalCalibration>& calibration = known.found;
  run_on_all(ranks, [&] {
    if (calibration)
      require_calibration_fits(*calibration, target_shape(model.open->network().chain), model.name);
  });
  const PredictedNetwork predicted{
      .opened = model.open->opened,
      .checkpoint = arguments.members.ensemble ? model.name : model.open->network().path,
      .parts = {.has_deviation = true,
                .coverage = calibration ? std::optional(calibration->coverage) : std::nullopt,
                .quantiles = {},
                .members = arguments.writes_members ? model.pass->members() : 0},
      .calibration = calibration ? &*calibration : nullptr};
  std::optional<PredictionWriter> writer;
  // Not by run_on_first: an HDF5 library for MPI may make MPI calls.
  run_on_all(ranks, [&] {
    if (ranks.rank() == 0) writer.emplace(predicted, arguments.output);
  });
  std::vector<float> rows;  // of each sample the mean, then the deviation
  const auto take = [&](UncertainBatch& batch) {
    rows.assign(batch.mean.begin(), batch.mean.end());
    rows.insert(rows.end(), batch.deviation.begin(), batch.deviation.end());
    collect_on_first(ranks, batch.samples, rows, 2 * width,
                     [&](const Share& samples, std::span<float> values) {
                       const std::size_t numbers = values.size() / 2;
                       writer->write(samples, values.first(numbers),
                                     {.deviations = values.subspan(numbers), .quantiles = {}});
                     });
  };
  const auto take_member = [&](std::int64_t member, const Share& samples, std::vector<float>& values) {
    collect_on_first(ranks, samples, values, width, [&](const Share& part, std::span<float> of_part) {
      writer->write_member(member, part, of_part);
    });
  };
  model.pass->run(take, arguments.writes_members ? ConsumeMember(take_member) : ConsumeMember());
  finish_predictions(
      ranks, predicted, writer ? &*writer : nullptr, arguments,
      fmt::format("mean and standard deviation of {}{}", model.name,
                  known.is_of_others ? ", without intervals: the calibration is of another ensemble" : ""),
      describe_outside(ranks, model.open->opened, model.pass->outside_range(), DataPart::train));
  return ExitCode::done;
}

}  // namespace mylos::app
