#include "commands/calibrated_rollouts.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/feed/share.hpp"
#include "mylos/inference/rollout/rollout.hpp"
#include "mylos/inference/rollout/stored_trajectories.hpp"
#include "mylos/inference/uncertainty/conformal_scores.hpp"

namespace mylos::app {
namespace {

std::int64_t count_trajectories(const StoredTrajectories& of) {
  std::set<std::int64_t> all;
  for (std::int64_t member = 0; member < of.members(); ++member) all.insert(of.member(member).trajectory);
  return std::ssize(all);
}

StoredTrajectories rollouts_in(const OpenModel& open, std::int64_t steps, double coverage) {
  const ArrayOptions& arrays = open.network().options.data.arrays;
  const std::vector<std::string>& files = open.opened.data->arrays(DataPart::train)->files();
  const auto starts = std::make_shared<const StoredLevels>(files, arrays, LevelsOf::inputs);
  const auto truth = std::make_shared<const StoredLevels>(files, arrays, LevelsOf::targets);
  const LevelLayout layout = level_layout(arrays, starts->store());
  std::vector<RolloutMember> members = members_by_stride(*starts, layout, steps, arrays.every);
  const std::int64_t needed = min_calibration_samples(coverage);
  if (std::ssize(members) < needed) {
    fail_input(errors::too_little_data,
               "{}: has {} rollouts of {} steps, which take {} levels; a coverage of {} needs at least {}: "
               "coverage / (1 - coverage), rounded up",
               starts->store().path(), members.size(), steps, layout.history + steps * layout.ahead, coverage,
               needed);
  }
  return {arrays, starts, truth, std::move(members), open.network().samples.level_step};
}

}  // namespace

std::optional<CalibrationRollouts> open_calibration_rollouts(const OpenModel& open, std::int64_t steps,
                                                             double coverage) {
  std::optional<CalibrationRollouts> rollouts;
  run_on_all(open.communicator->ranks(), [&] {
    if (steps > 0) rollouts.emplace(CalibrationRollouts{steps, rollouts_in(open, steps, coverage)});
  });
  return rollouts;
}

CalibratedRollouts calibrate_rollouts(const OpenModel& open, const CalibrationRollouts& rollouts,
                                      std::span<RowInference* const> networks, std::int64_t piece,
                                      double coverage) {
  const StoredNetwork& network = open.network();
  RankGroup& ranks = open.communicator->ranks();
  const std::int64_t steps = rollouts.steps;
  const StoredTrajectories& trajectories = rollouts.trajectories;
  std::optional<ConformalScores> scores;
  RolloutRequest request{.steps = steps, .networks = std::ssize(networks), .take = {}, .take_scores = {}};
  run_on_all(ranks, [&] {
    const LevelLayout& layout = trajectories.layout();
    const std::int64_t rows_of_member = layout.points_are_samples ? layout.points() : 1;
    const std::int64_t members = trajectories.members();
    request.members_at_once = std::clamp<std::int64_t>(piece / rows_of_member, 1, members);
    if (const auto weights = target_shape(network.chain).weights)
      request.weights = MeasureWeights(weights->values, weights->channels);
    const std::int64_t share = mylos::share_of(members, ranks.rank(), ranks.size()).count;
    const std::int64_t columns = steps * layout.outputs();
    require_host_memory(fmt::format("{}: rollouts of {} steps", network.path, steps),
                        rollout_bytes(layout, request, members, ranks.size()) +
                            ConformalScores::memory_bytes(columns, share));
    scores.emplace(ConformalScore::absolute, columns, share);
  });
  request.take_scores = [&](std::int64_t step, std::span<const VariableScores> found) {
    std::int64_t column = (step - 1) * std::ssize(found);
    for (const VariableScores& variable : found) {
      if (variable.starts > 0) scores->add(column, variable.network.max_absolute);
      ++column;
    }
  };
  static_cast<void>(roll_out(networks, ranks, trajectories, request));
  if (const std::int64_t count = scores->not_finite(ranks); count > 0) {
    fail_run(errors::not_finite,
             "{}: {} errors of {} rollouts are inf or NaN, and so have no intervals: calibrate fewer steps "
             "than {}",
             open.opened.data->path(), count, trajectories.members(), steps);
  }
  scores->require_enough(ranks, coverage, open.opened.data->path());
  return {.calibration = {.coverage = coverage,
                          .samples = trajectories.members(),
                          .split = {},
                          .score = ConformalScore::absolute,
                          .quantiles = scores->quantiles(ranks, coverage),
                          .lead_times = steps,
                          .members = std::ssize(networks)},
          .trajectories = count_trajectories(trajectories)};
}

}  // namespace mylos::app
