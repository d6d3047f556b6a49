// mylos calibrate RUN [--split validation|test] [--data FILE] [--coverage 0.9] [--out MODEL.h5]
// [--rollout N] [--input-statistics] [--best] [--average]: measures conformal intervals and writes a model
// file with them.
#include <fmt/format.h>

#include <filesystem>

#include "commands.hpp"
#include "commands/calibrated_rollouts.hpp"
#include "commands/data_split.hpp"
#include "commands/model_output.hpp"
#include "commands/open_model.hpp"
#include "commands/output_name.hpp"
#include "commands/rollout_data.hpp"
#include "commands/training_inputs.hpp"
#include "launch/standard_output.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/run/agreed_data.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/model_file.hpp"
#include "mylos/inference/trained_samples.hpp"
#include "mylos/inference/uncertainty/conformal_scores.hpp"
#include "mylos/io/system/system_memory.hpp"

namespace mylos::app {
namespace {

void require_arguments(const CalibrateArguments& arguments) {
  if (!(arguments.coverage > 0 && arguments.coverage < 1))
    fail_input(errors::bad_argument, "--coverage is {}; it is a number between 0 and 1, such as 0.9",
               arguments.coverage);
  if (arguments.split == name_of(DataPart::train)) {
    fail_input(errors::bad_argument,
               "--split train: the errors of samples that the network was trained on are too small for "
               "intervals; give --split validation, --split test or --data FILE");
  }
  if (arguments.rollout > 0 && arguments.data.empty() && arguments.split == name_of(DataPart::validation)) {
    fail_input(
        errors::bad_argument,
        "--rollout {}: validation samples are single windows between those of the training, not levels "
        "that follow each other; give --split test or --data FILE",
        arguments.rollout);
  }
}

/// The samples and the scaling of a training are in its run alone.
void refuse_model_file(const std::string& path) {
  if (kind_of_file(path) != FileKind::model) return;
  fail_input(errors::weights_only,
             "{}: is a model file; calibrate the run or the checkpoint that it was exported from", path);
}

std::string output_of(const CalibrateArguments& arguments) {
  if (!arguments.output.empty()) return arguments.output;
  std::error_code failure;
  if (!std::filesystem::is_regular_file(arguments.run.path, failure))
    return (std::filesystem::path(arguments.run.path) / "calibrated.h5").string();
  refuse_model_file(arguments.run.path);
  fail_input(errors::missing_argument, "{}: is no run's folder; name the model file by --out MODEL.h5",
             arguments.run.path);
}

/// Throws Error (bad_input) for networks that have no such intervals, and for outputs that cannot be written.
void check(const StoredNetwork& network, const CalibrateArguments& arguments, const std::string& output) {
  const ModelOptions& model = network.options.model;
  if (network.training.vocabulary || model.type == ModelType::gpt)
    fail_input(errors::not_measured, "{} is a network of tokens; intervals are of regressions", network.path);
  if (!is_of_numbers(model.prediction())) {
    fail_input(errors::not_measured,
               "{}: model.loss = \"{}\" gives probabilities; intervals are of regressions", network.path,
               name_of(model.loss));
  }
  refuse_model_file(network.path);
  if (arguments.rollout > 0) require_levels(network);
  if (has_onnx_name(output) || has_ending_after_onnx(output)) {
    fail_input(errors::bad_argument,
               "{}: the output is a model file, HDF5, which has the intervals beside the network; name it "
               "MODEL.h5",
               printable(output));
  }
  require_model_output(network.path, network.options.data, output);
}

/// Throws Error (bad_input) where the samples are among those of the training, or are too few.
void require_held_out(const OpenedNetwork& opened, const CalibrateArguments& arguments, DataPart part,
                      RankGroup& ranks) {
  const RunData& data = *opened.data;
  const std::string identity = agreed_identity(data, opened.network.options.data, ranks);
  const bool is_same = identity == opened.network.training.identity;
  if (part == DataPart::validation && !is_same) {
    fail_input(errors::data_mismatch,
               "{}: is not what the run was trained on, so that its validation samples may be others; give "
               "--data FILE with samples that the run has not seen",
               data.path());
  }
  if (part != DataPart::validation && is_same) {
    fail_input(errors::data_mismatch,
               "{}: has the samples that the network was trained on, whose errors are too small for "
               "intervals; give others",
               data.path());
  }
  const std::int64_t samples = data.samples(part);
  const std::int64_t needed = min_calibration_samples(arguments.coverage);
  if (samples < needed) {
    fail_input(errors::too_little_data,
               "{}: has {} samples to calibrate on; a coverage of {} needs at least {}: "
               "coverage / (1 - coverage), rounded up",
               data.path(), samples, arguments.coverage, needed);
  }
}

/// All ranks. Returns the scores of this rank's samples.
ConformalScores scores_of(const OpenModel& open, EvaluationPass& pass) {
  const Chain& chain = open.network().chain;
  const TargetShape shape = target_shape(chain);
  const std::int64_t samples = pass.share().count;
  RankGroup& ranks = open.communicator->ranks();
  run_on_all(ranks, [&] {
    const std::size_t bytes = ConformalScores::memory_bytes(shape.channels, samples);
    const auto available = static_cast<std::size_t>(available_host_memory());
    if (bytes > available)
      throw Error(ExitCode::does_not_fit, errors::does_not_fit,
                  fmt::format("the scores of {} samples take {} of memory, but {} are available; use more "
                              "ranks or fewer samples",
                              samples, format_bytes(static_cast<std::int64_t>(bytes)),
                              format_bytes(static_cast<std::int64_t>(available))));
  });
  ConformalScores scores(shape.has_deviations ? ConformalScore::scaled : ConformalScore::absolute,
                         shape.channels, samples);
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

/// Returns one line per target or channel.
std::string text_of(const ConformalCalibration& calibration, const std::vector<std::string>& names,
                    const char* unnamed) {
  constexpr std::size_t max_listed = 20;
  const std::vector<double>& quantiles = calibration.quantiles;
  std::string text;
  for (std::size_t i = 0; i < std::min(quantiles.size(), max_listed); ++i) {
    const std::string name =
        names.size() == quantiles.size() ? printable(names[i]) : fmt::format("{} {}", unnamed, i);
    const char* unit = calibration.score == ConformalScore::scaled ? " standard deviations" : "";
    text += fmt::format("{}{}: +- {:.6g}{}", i == 0 ? "" : "\n", name, quantiles[i], unit);
  }
  if (quantiles.size() > max_listed) text += fmt::format("\nand {} more", quantiles.size() - max_listed);
  return text;
}

}  // namespace

ExitCode calibrate_command(const CalibrateArguments& arguments) {
  require_arguments(arguments);
  const DataSplit split{arguments.split, arguments.data};
  const std::string output = output_of(arguments);
  const auto open =
      open_model(arguments.run,
                 {.choose = [&](DataOptions& data) { choose_split(data, split, arguments.run.path); },
                  .check = [&](const OpenedNetwork& opened) { check(opened.network, arguments, output); }});
  const StoredNetwork& network = open->network();
  const RunData& data = *open->opened.data;
  RankGroup& ranks = open->communicator->ranks();
  const DataPart part = part_of(split);
  require_part(data, part);
  require_held_out(open->opened, arguments, part, ranks);
  std::optional<StoredTrajectories> trajectories;
  run_on_all(ranks, [&] {
    if (arguments.rollout > 0)
      trajectories.emplace(open_calibration_rollouts(*open, arguments.rollout, arguments.coverage));
  });
  const auto pass = open->pass_over(part);
  ConformalScores scores = scores_of(*open, *pass);
  const std::string outside = describe_outside(ranks, open->opened, *pass, part);
  if (const std::int64_t count = scores.not_finite(ranks); count > 0) {
    fail_run(errors::not_finite, "{}: {} scores of the {} samples are inf or NaN, and so have no intervals",
             data.path(), count, data.samples(part));
  }
  const std::vector<std::int64_t> counted = scores.samples(ranks);
  if (const std::int64_t least = std::ranges::min(counted);
      least < min_calibration_samples(arguments.coverage)) {
    fail_input(errors::too_little_data,
               "{}: a target has values in {} samples, and is missing in the others (data.arrays.missing); a "
               "coverage of {} needs at least {}",
               data.path(), least, arguments.coverage, min_calibration_samples(arguments.coverage));
  }
  const TargetShape shape = target_shape(network.chain);
  const ConformalCalibration calibration{
      .coverage = arguments.coverage,
      .samples = data.samples(part),
      .split = arguments.data.empty() ? arguments.split : "data",
      .score = shape.has_deviations ? ConformalScore::scaled : ConformalScore::absolute,
      .quantiles = scores.quantiles(ranks, arguments.coverage)};
  ModelFileOptions options{.weights = arguments.run.average ? StoredWeights::average : StoredWeights::current,
                           .calibrations = {calibration}};
  std::optional<CalibratedRollouts> rollouts;
  if (trajectories) {
    rollouts = calibrate_rollouts(*open, *trajectories, arguments.rollout, arguments.coverage);
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
  const char* unnamed = shape.points > 1 ? "channel" : "target";
  lines.line(text_of(calibration, network.samples.target_names, unnamed));
  if (!rollouts) return ExitCode::done;
  const std::int64_t steps = arguments.rollout;
  lines.line(fmt::format(
      "{} rollouts of {} step{} in {} trajector{}, after the last:", rollouts->calibration.samples, steps,
      steps == 1 ? "" : "s", rollouts->trajectories, rollouts->trajectories == 1 ? "y" : "ies"));
  lines.line(text_of(rollouts->calibration.at_lead_time(steps), network.samples.target_names, unnamed));
  return ExitCode::done;
}

}  // namespace mylos::app
