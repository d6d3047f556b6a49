// mylos rollout RUN START --steps N --out FILE [--truth FILE] [--climatology FILE] [--sample LIST]
// [--start LIST] [--perturb DEVIATION --members N | --mc-dropout N] [--seed N]; mylos rollout --ensemble RUN
// RUN ... START ...
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "commands.hpp"
#include "commands/output_name.hpp"
#include "commands/replaced_file.hpp"
#include "commands/rollout_climatology.hpp"
#include "commands/rollout_levels.hpp"
#include "commands/rollout_networks.hpp"
#include "launch/standard_output.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/ensemble/ensemble_calibration.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/train/evaluation/field_files.hpp"
#include "tables/rollout_table.hpp"

namespace mylos::app {
namespace {

struct OutputPaths {
  std::string errors;
  std::string scores;
  std::string spectrum;
  std::string document;
};

OutputPaths paths_beside(const std::string& output) {
  const std::string stem = std::filesystem::path(output).replace_extension().string();
  return {stem + ".errors.csv", stem + ".errors.nc", stem + ".spectrum.csv", stem + ".rollout.json"};
}

/// Returns the arguments with the file to start from, which is the last word if the network is an ensemble.
RolloutArguments with_start(RolloutArguments arguments) {
  std::vector<std::string>& more = arguments.more;
  if (!arguments.ensemble) {
    if (more.empty()) return arguments;
    fail_input(errors::extra_argument, "'{}' is one argument too many; --ensemble takes several networks",
               printable(more.front()));
  }
  more.insert(more.begin(), arguments.start);
  arguments.start = more.back();
  more.pop_back();
  return arguments;
}

void check(const StoredNetwork& network, const RolloutArguments& arguments) {
  require_levels(network);
  require_array_name(arguments.output);
  const OutputPaths paths = paths_beside(arguments.output);
  for (const std::string& output :
       {arguments.output, paths.errors, paths.scores, paths.spectrum, paths.document})
    for (const std::string& input : {arguments.start, arguments.truth, arguments.climatology, network.path})
      if (!input.empty()) require_other_file(input, output);
  for (const std::string& output : {arguments.output, paths.scores})
    require_replaceable(output, OutputKind::predictions);
  for (const std::string& output : {paths.errors, paths.spectrum, paths.document})
    require_replaceable(output, OutputKind::other);
}

/// Returns the intervals of the rollouts of these networks without noise and masks, if they have some. Throws
/// Error (bad_input) where they end before the rollout.
const ConformalCalibration* intervals_of(const StoredNetwork& network, const EnsembleCalibration& ensemble,
                                         const LevelLayout& layout, const RolloutRequest& request) {
  const auto& found = request.networks > 1 ? ensemble.found : network.rollout_calibration;
  if (!found || request.copies > 1) return nullptr;
  require_calibration_fits(*found, {.channels = layout.outputs()}, network.path);
  if (request.steps > found->lead_times) {
    fail_input(
        errors::bad_argument,
        "--steps {}: the intervals of {} are of lead times up to {} steps; take no more, or calibrate the "
        "run by `mylos calibrate --rollout {}`",
        request.steps, network.path, found->lead_times, request.steps);
  }
  return &*found;
}

/// Returns "traj.h5: 200 steps of 1 member, compared with run09.h5".
std::string describe(const RolloutArguments& arguments, const RolloutResult& result,
                     const RolloutRequest& request) {
  const auto counted = [](std::int64_t count, const char* of) {
    return fmt::format("{} {}{}", count, of, count == 1 ? "" : "s");
  };
  const std::string of =
      request.forecasts() == 1
          ? counted(result.members, "member")
          : fmt::format("{} of {} members", counted(result.members, "ensemble"), request.forecasts());
  return fmt::format("{}: {} of {}{}", arguments.output, counted(result.steps, "step"), of,
                     arguments.truth.empty() ? "" : ", compared with " + arguments.truth);
}

}  // namespace

ExitCode rollout_command(const RolloutArguments& given) {
  const RolloutArguments arguments = with_start(given);
  require_single(arguments.mesh,
                 {.ensemble = arguments.ensemble, .more = {}, .dropout_masks = arguments.dropout_masks});
  const bool has_truth = !arguments.truth.empty();
  RolloutNetworks networks =
      open_networks(arguments, [&](const StoredNetwork& network) { check(network, arguments); });
  const OpenModel& open = *networks.first;
  const StoredNetwork& network = open.network();
  RankGroup& ranks = open.communicator->ranks();
  const bool is_first = ranks.rank() == 0;
  const EnsembleCalibration calibration =
      read_ensemble_calibration(ranks, networks.members, Calibrated::ensemble_rollouts);
  RolloutData data;
  std::optional<StoredTrajectories> of_box;
  std::optional<DividedRollouts> divided;
  std::vector<std::unique_ptr<RowInference>> rows;
  std::vector<RowInference*> each;
  std::optional<StartNoise> noise;
  RolloutRequest request{.steps = arguments.steps,
                         .networks = 1 + std::ssize(networks.others),
                         .copies = std::max(arguments.members, arguments.dropout_masks),
                         .has_spectrum = true,
                         .has_spectra = has_truth,
                         .has_scores = has_truth,
                         .drops = arguments.dropout_masks > 0};
  // Rank 0 writes while others read: an HDF5 library for MPI may make MPI calls, so not by run_on_first.
  std::optional<RolloutLevels> levels;
  std::size_t bytes = 0;  // of the rollouts
  run_on_all(ranks, [&] {
    data = open_data(network, std::move(networks.starts), arguments);
    const LevelLayout& layout = data.trajectories->layout();
    const std::int64_t rows_of_member = (layout.points_are_samples ? layout.points() : 1) * request.copies;
    request.members_at_once =
        std::clamp<std::int64_t>(open.model->samples() / rows_of_member, 1, data.trajectories->members());
    const PointWeights* weights = networks.weights.get();
    const bool has_channels =
        weights != nullptr && (weights->channels == 1 || weights->channels == layout.outputs());
    if (has_channels && weights->extents == layout.extents)
      request.weights = MeasureWeights(weights->values, weights->channels);
    if (open.opened.divided) {
      const Mesh& mesh = open.opened.divided->mesh;
      of_box.emplace(*data.trajectories, mesh.part());
      request.divided = &divided.emplace(mesh, *of_box, layout.extents);
    }
    request.intervals = intervals_of(network, calibration, layout, request);
    bytes = rollout_bytes(layout, request, data.trajectories->members(), ranks.size());
    require_host_memory(fmt::format("{}: its rollouts", arguments.start), bytes);
    if (arguments.perturb > 0) {
      request.noise = &noise.emplace(
          arguments.perturb, network.training.normalizer.inputs,
          arguments.seed < 0 ? network.options.run.seed : static_cast<std::uint64_t>(arguments.seed));
    }
    rows = networks.rows();
    for (const auto& one : rows) each.push_back(one.get());
  });
  std::optional<RolloutClimatology> climatology;
  if (!arguments.climatology.empty()) {
    climatology.emplace(ranks, network, data, arguments, bytes);
    request.climatology = [&](std::int64_t member, std::int64_t step) {
      return climatology->at(member, step);
    };
  }
  run_on_all(ranks, [&] {
    if (is_first) levels.emplace(arguments, network, data, request);
  });
  request.take = [&](std::int64_t member, std::int64_t step, std::span<const float> states) {
    levels->take(member, step, states);
  };
  const RolloutResult result = roll_out(each, ranks, *data.trajectories, request);
  run_on_all(ranks, [&] {
    if (is_first) levels->file().close();
  });
  const OutputPaths paths = paths_beside(arguments.output);
  ScoreAxes axes;
  run_on_all(ranks, [&] {
    if (!is_first || !has_truth) return;
    axes = score_axes(network.options.data.arrays, data.truth->store(), arguments.steps);
    write_score_file(paths.scores, result.scores, axes, result.spectrum, network.path);
  });
  run_on_first(ranks, [&] {
    levels->file().publish();
    publish_text(paths.errors, error_table(result));
    publish_text(paths.spectrum, spectrum_table(result));
    write_rollout_file(paths.document, {.network = network.path,
                                        .step = network.step,
                                        .start = arguments.start,
                                        .truth = arguments.truth,
                                        .members = levels->member_names(),
                                        .result = &result,
                                        .axes = axes,
                                        .pictures = levels->pictures()});
  });
  if (!is_first) return ExitCode::done;
  const Output output = standard_output(0);
  output.line(describe(arguments, result, request));
  if (networks.weights != nullptr && !request.weights.any())
    output.line("all points count alike: the weights of the training are those of another grid");
  const bool has_any = network.rollout_calibration || calibration.found || calibration.is_of_others;
  if (has_any && request.intervals == nullptr)
    output.line("without intervals: the calibration is of other rollouts, not of the mean of these");
  print_rollout(output, result, levels->member_names(), has_truth);
  const std::string scores = has_truth ? paths.scores + ", " : "";
  output.line(fmt::format("{}, {}{}, {}", paths.errors, scores, paths.spectrum, paths.document));
  return ExitCode::done;
}

}  // namespace mylos::app
