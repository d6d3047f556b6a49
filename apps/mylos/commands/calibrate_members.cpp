// mylos calibrate --ensemble RUN RUN ... --out FOLDER: intervals around the mean of several networks, in a
// model file of each of them.
#include <fmt/format.h>

#include <filesystem>

#include "commands.hpp"
#include "commands/calibrated_predictions.hpp"
#include "commands/data_split.hpp"
#include "commands/replaced_file.hpp"
#include "commands/rollout_networks.hpp"
#include "commands/uncertain_model.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/feed/share.hpp"
#include "mylos/inference/model_file.hpp"
#include "mylos/inference/stored/other_grid.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/inference/trained_samples.hpp"

namespace mylos::app {
namespace {

std::string file_of(const CalibrateArguments& arguments, std::size_t member) {
  return (std::filesystem::path(arguments.output) / fmt::format("member-{:02}.h5", member)).string();
}

void require_arguments(const CalibrateArguments& arguments) {
  if (arguments.output.empty())
    fail_input(errors::missing_argument, "name the folder for a model file of each network by --out FOLDER");
  if (arguments.input_statistics)
    fail_input(errors::arguments_conflict,
               "--input-statistics: the networks of an ensemble are compared with its first one's inputs; "
               "leave it out");
}

/// All ranks. Returns the scores of the means of this rank's samples.
ConformalScores scores_of(const UncertainModel& model, DataPart part) {
  const OpenedNetwork& opened = model.open->opened;
  RankGroup& ranks = model.open->communicator->ranks();
  const TargetShape shape = target_shape(opened.network.chain);
  ConformalScores scores = room_for_scores(
      shape, mylos::share_of(opened.data->samples(part), ranks.rank(), ranks.size()).count, ranks);
  model.pass->run([&](const UncertainBatch& batch) {
    const std::span<const float> deviations = batch.deviation;
    scores.add(make_evaluated_rows(shape, opened.network.training.normalizer.targets, batch.mean,
                                   shape.has_deviations ? deviations : std::span<const float>(),
                                   batch.targets));
  });
  return scores;
}

/// All ranks. Loads all networks and makes rollouts of their mean.
CalibratedRollouts rollouts_of(const UncertainModel& model, const CalibrationRollouts& rollouts,
                               double coverage) {
  const OpenModel& open = *model.open;
  std::vector<RolloutNetworks::Other> loaded;
  loaded.reserve(model.members.size());  // rows refer to them
  std::vector<std::unique_ptr<RowInference>> rows;
  std::vector<RowInference*> each;
  for (const EnsembleMember& member : model.members) {
    const CheckpointReader reader(open.communicator->ranks(), member.path, ReadableKinds::all);
    const std::int64_t piece = loaded.empty() ? 0 : loaded.front().model->samples();
    RolloutNetworks::Other& other =
        loaded.emplace_back(RolloutNetworks::Other{OpenedNetwork{read_stored_network(reader)}, nullptr});
    StoredNetwork& network = other.opened.network;
    run_on_all(open.communicator->ranks(), [&] { move_to_grid(network, open.network().input_shape); });
    other.model = load_model(reader, other.opened, *open.engines, member.average, piece);
    rows.push_back(rows_of(open, network, *other.model));
    each.push_back(rows.back().get());
  }
  return calibrate_rollouts(open, rollouts, each, loaded.front().model->samples(), coverage);
}

}  // namespace

ExitCode calibrate_members(const CalibrateArguments& arguments) {
  require_arguments(arguments);
  const DataSplit split{arguments.split, arguments.data};
  const DataPart part = part_of(split);
  const UncertainModel model = open_uncertain_model(
      arguments.run, arguments.more, {.ensemble = true, .more = {}},
      {.choose = [&](DataOptions& data) { choose_split(data, split, arguments.run.path); },
       .check =
           [&](const OpenedNetwork& opened) {
             for (std::size_t member = 0; member <= arguments.more.size(); ++member)
               require_calibratable(opened.network, arguments, file_of(arguments, member));
           }},
      part);
  const OpenedNetwork& opened = model.open->opened;
  RankGroup& ranks = model.open->communicator->ranks();
  run_on_all(ranks, [&] {
    for (const EnsembleMember& member : model.members) {
      refuse_model_file(member.path);
      for (std::size_t other = 0; other < model.members.size(); ++other)
        require_other_file(member.path, file_of(arguments, other));
    }
  });
  require_part(*opened.data, part);
  require_held_out(opened, arguments, part, ranks);
  const auto trajectories = open_calibration_rollouts(*model.open, arguments.rollout, arguments.coverage);
  ConformalScores scores = scores_of(model, part);
  const std::string outside = describe_outside(ranks, opened, model.pass->outside_range(), part);
  ConformalCalibration calibration = calibration_by(scores, opened, arguments, ranks);
  calibration.members = std::ssize(model.members);
  ModelFileOptions options{.weights = arguments.run.average ? StoredWeights::average : StoredWeights::current,
                           .calibrations = {calibration}};
  std::optional<CalibratedRollouts> rollouts;
  if (trajectories) {
    rollouts = rollouts_of(model, *trajectories, arguments.coverage);
    rollouts->calibration.split = calibration.split;
    options.calibrations.push_back(rollouts->calibration);
  }
  run_on_all(ranks, [&] {
    if (ranks.rank() != 0) return;
    make_folder(arguments.output);
    RankGroup alone;
    for (std::size_t member = 0; member < model.members.size(); ++member)
      write_model_file(CheckpointReader(alone, model.members[member].path), file_of(arguments, member),
                       options);
  });
  const Output lines = standard_output(ranks.rank());
  for (const std::string& note : opened.notes) lines.line(note);
  if (!outside.empty()) lines.line(outside);
  lines.line(fmt::format("{}: models of {}{} with intervals of coverage {}, {} scores of {} samples of {}",
                         arguments.output, model.name, arguments.run.average ? ", averages of weights," : "",
                         calibration.coverage, name_of(calibration.score), calibration.samples,
                         opened.data->path()));
  print_intervals(lines, opened.network, calibration, rollouts);
  return ExitCode::done;
}

}  // namespace mylos::app
