// mylos calibrate RUN [--split validation|test] [--data FILE] [--coverage 0.9] [--out MODEL.h5]
// [--rollout N] [--input-statistics] [--best] [--average]: measures conformal intervals and writes a model
// file with them; mylos calibrate --ensemble RUN RUN ...: of their mean.
#include <fmt/format.h>

#include <filesystem>

#include "commands.hpp"
#include "commands/calibrated_predictions.hpp"
#include "commands/data_split.hpp"
#include "commands/open_model.hpp"
#include "commands/rollout_networks.hpp"
#include "commands/training_inputs.hpp"
#include "launch/standard_output.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/model_file.hpp"
#include "mylos/inference/trained_samples.hpp"

namespace mylos::app {
namespace {

std::string output_of(const CalibrateArguments& arguments) {
  if (!arguments.output.empty()) return arguments.output;
  std::error_code failure;
  if (!std::filesystem::is_regular_file(arguments.run.path, failure))
    return (std::filesystem::path(arguments.run.path) / "calibrated.h5").string();
  refuse_model_file(arguments.run.path);
  fail_input(errors::missing_argument, "{}: is no run's folder; name the model file by --out MODEL.h5",
             arguments.run.path);
}

/// All ranks. Returns the scores of this rank's samples.
ConformalScores scores_of(const OpenModel& open, EvaluationPass& pass) {
  const Chain& chain = open.network().chain;
  const TargetShape shape = target_shape(chain);
  RankGroup& ranks = open.communicator->ranks();
  ConformalScores scores = room_for_scores(shape, pass.share().count, ranks);
  run_on_all(ranks, [&] {
    const InferenceContext context = open.context();
    const Arena floats("outputs as floats", float_output_bytes(chain, open.model->samples()));
    const Staging staging(chain, open.model->samples());
    std::vector<float> outputs, deviations;
    const auto take = [&](const StepContext& step, const MicroBatch&, const Batch& batch) {
      copy_outputs(step, context.model, floats.tensor(0, DType::fp32, batch.samples, chain.outputs()),
                   outputs);
      const auto numbers = static_cast<std::size_t>(batch.samples * shape.row());
      if (shape.has_deviations) {
        deviations.resize(numbers);
        copy_deviations(step, context.model, batch.samples, deviations);
      }
      scores.add(make_evaluated_rows(shape, open.network().training.normalizer.targets, outputs, deviations,
                                     {batch.targets, numbers}));
    };
    pass.rewind();
    while (run_next_batch(context, staging, pass, take)) {
    }
  });
  return scores;
}

}  // namespace

ExitCode calibrate_command(const CalibrateArguments& arguments) {
  require_calibration(arguments);
  if (arguments.ensemble) return calibrate_members(arguments);
  const DataSplit split{arguments.split, arguments.data};
  const std::string output = output_of(arguments);
  const auto open = open_model(
      arguments.run,
      {.choose = [&](DataOptions& data) { choose_split(data, split, arguments.run.path); },
       .check =
           [&](const OpenedNetwork& opened) { require_calibratable(opened.network, arguments, output); }});
  const StoredNetwork& network = open->network();
  const RunData& data = *open->opened.data;
  RankGroup& ranks = open->communicator->ranks();
  const DataPart part = part_of(split);
  require_part(data, part);
  require_held_out(open->opened, arguments, part, ranks);
  const auto trajectories = open_calibration_rollouts(*open, arguments.rollout, arguments.coverage);
  const auto pass = open->pass_over(part);
  ConformalScores scores = scores_of(*open, *pass);
  const std::string outside = describe_outside(ranks, open->opened, *pass, part);
  const ConformalCalibration calibration = calibration_by(scores, open->opened, arguments, ranks);
  ModelFileOptions options{.weights = arguments.run.average ? StoredWeights::average : StoredWeights::current,
                           .calibrations = {calibration}};
  std::optional<CalibratedRollouts> rollouts;
  if (trajectories) {
    const auto rows = rows_of(*open, network, *open->model);
    RowInference* const networks[] = {rows.get()};
    rollouts = calibrate_rollouts(*open, *trajectories, networks, open->model->samples(), arguments.coverage);
    rollouts->calibration.split = calibration.split;
    options.calibrations.push_back(rollouts->calibration);
  }
  if (arguments.input_statistics)
    options.inputs = measure_training_inputs(CheckpointReader(ranks, network.path));
  run_on_all(ranks, [&] {
    if (ranks.rank() != 0) return;
    RankGroup alone;
    write_model_file(CheckpointReader(alone, network.path), output, options);
  });
  const Output lines = standard_output(ranks.rank());
  for (const std::string& note : open->opened.notes) lines.line(note);
  if (!outside.empty()) lines.line(outside);
  lines.line(
      fmt::format("{}: model of step {}{} with intervals of coverage {}, {} scores of {} samples of {}",
                  output, network.step, arguments.run.average ? ", average of weights," : "",
                  calibration.coverage, name_of(calibration.score), calibration.samples, data.path()));
  if (options.inputs) lines.line(describe_inputs(*options.inputs, network.samples.input_names));
  print_intervals(lines, network, calibration, rollouts);
  return ExitCode::done;
}

}  // namespace mylos::app
