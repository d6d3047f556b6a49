#include "commands/calibrated_predictions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "commands/data_split.hpp"
#include "commands/model_output.hpp"
#include "commands/output_name.hpp"
#include "commands/rollout_data.hpp"
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
#include "mylos/io/system/system_memory.hpp"

namespace mylos::app {
namespace {

ConformalScore score_of(const TargetShape& shape) {
  return shape.has_deviations ? ConformalScore::scaled : ConformalScore::absolute;
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

void require_calibration(const CalibrateArguments& arguments) {
  if (!arguments.ensemble && !arguments.more.empty())
    fail_input(errors::extra_argument, "'{}' is one argument too many; --ensemble takes several networks",
               printable(arguments.more.front()));
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

void refuse_model_file(const std::string& path) {
  if (kind_of_file(path) != FileKind::model) return;
  fail_input(errors::weights_only,
             "{}: is a model file; calibrate the run or the checkpoint that it was exported from", path);
}

void require_calibratable(const StoredNetwork& network, const CalibrateArguments& arguments,
                          const std::string& output) {
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

ConformalScores room_for_scores(const TargetShape& shape, std::int64_t samples, RankGroup& ranks) {
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
  return {score_of(shape), shape.channels, samples};
}

ConformalCalibration calibration_by(ConformalScores& scores, const OpenedNetwork& opened,
                                    const CalibrateArguments& arguments, RankGroup& ranks) {
  const RunData& data = *opened.data;
  const DataPart part = part_of({arguments.split, arguments.data});
  if (const std::int64_t count = scores.not_finite(ranks); count > 0) {
    fail_run(errors::not_finite, "{}: {} scores of the {} samples are inf or NaN, and so have no intervals",
             data.path(), count, data.samples(part));
  }
  scores.require_enough(ranks, arguments.coverage, data.path());
  const TargetShape shape = target_shape(opened.network.chain);
  return {.coverage = arguments.coverage,
          .samples = data.samples(part),
          .split = arguments.data.empty() ? arguments.split : "data",
          .score = score_of(shape),
          .quantiles = scores.quantiles(ranks, arguments.coverage)};
}

void print_intervals(const Output& output, const StoredNetwork& network,
                     const ConformalCalibration& calibration,
                     const std::optional<CalibratedRollouts>& rollouts) {
  const std::vector<std::string>& names = network.samples.target_names;
  const char* unnamed = target_shape(network.chain).points > 1 ? "channel" : "target";
  output.line(text_of(calibration, names, unnamed));
  if (!rollouts) return;
  const std::int64_t steps = rollouts->calibration.lead_times;
  output.line(fmt::format(
      "{} rollouts of {} step{} in {} trajector{}, after the last:", rollouts->calibration.samples, steps,
      steps == 1 ? "" : "s", rollouts->trajectories, rollouts->trajectories == 1 ? "y" : "ies"));
  output.line(text_of(rollouts->calibration.at_lead_time(steps), names, unnamed));
}

}  // namespace mylos::app
