// mylos rollout RUN START --steps N --out FILE [--truth FILE] [--sample LIST] [--start LIST]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "commands.hpp"
#include "commands/open_model.hpp"
#include "commands/output_name.hpp"
#include "commands/replaced_file.hpp"
#include "commands/rollout_members.hpp"
#include "launch/standard_output.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/rollout/field_file.hpp"
#include "mylos/inference/rollout/map_orientation.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/inference/stored/other_grid.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/train/evaluation/field_files.hpp"

namespace mylos::app {
namespace {

constexpr std::int64_t max_pictured_members = 2;
constexpr std::size_t max_pictured_channels = 3;

struct OutputPaths {
  std::string errors;
  std::string spectrum;
  std::string document;
};

OutputPaths paths_beside(const std::string& output) {
  const std::string stem = std::filesystem::path(output).replace_extension().string();
  return {stem + ".errors.csv", stem + ".spectrum.csv", stem + ".rollout.json"};
}

void check(const StoredNetwork& network, const RolloutArguments& arguments) {
  if (!network.options.data.arrays.given()) {
    fail_input(errors::wrong_format,
               "{}: was not trained on arrays: its deck has no [data.arrays], which says what a level is",
               network.path);
  }
  require_array_name(arguments.output);
  const OutputPaths paths = paths_beside(arguments.output);
  for (const std::string& output : {arguments.output, paths.errors, paths.spectrum, paths.document})
    for (const std::string& input : {arguments.start, arguments.truth, network.path})
      if (!input.empty()) require_other_file(input, output);
  require_replaceable(arguments.output, OutputKind::predictions);
  for (const std::string& output : {paths.errors, paths.spectrum, paths.document})
    require_replaceable(output, OutputKind::other);
}

/// Throws unless the file's fields are what the network reads and predicts.
void require_fits(const StoredNetwork& network, const LevelLayout& layout, const std::string& path) {
  const std::int64_t of_sample = layout.points_are_samples ? 1 : layout.points();
  const Chain& chain = network.chain;
  if (of_sample * layout.inputs() == chain.inputs() && of_sample * layout.outputs() == chain.outputs())
    return;
  fail_input(errors::data_mismatch,
             "{}: its levels make samples of {} inputs and {} targets, but {} has {} inputs and {} outputs",
             path, of_sample * layout.inputs(), of_sample * layout.outputs(), network.path, chain.inputs(),
             chain.outputs());
}

/// The data of a rollout on this rank.
struct RolloutData {
  std::shared_ptr<const StoredLevels> starts;
  std::shared_ptr<const StoredLevels> truth;
  std::optional<StoredTrajectories> trajectories;
};

/// Returns the options of whole trajectories.
ArrayOptions trajectory_options(const StoredNetwork& network) {
  ArrayOptions options = network.options.data.arrays;
  options.slice = slices_of_trajectories(options.slice);
  options.compare_times_if(network.samples.level_step.is_known());
  return options;
}

std::shared_ptr<const StoredLevels> open_starts(const StoredNetwork& network, const std::string& file) {
  const ArrayOptions options = trajectory_options(network);
  return std::make_shared<const StoredLevels>(std::vector{file}, options, options.inputs, options.constants);
}

/// Returns the shape of the samples on the grid of the file that the rollout starts from; empty if the
/// network does not read samples of that many axes and channels.
std::vector<std::int64_t> shape_of_samples(const StoredNetwork& network, const StoredLevels& starts) {
  const ArrayOptions options = trajectory_options(network);
  if (network.input_shape.size() < 2 || options.points_are_samples) return {};
  const LevelLayout layout = level_layout(options, starts.store());
  std::vector<std::int64_t> shape = layout.extents;
  if (!shape.empty()) shape.push_back(layout.inputs());
  const bool is_comparable =
      shape.size() == network.input_shape.size() && shape.back() == network.input_shape.back();
  return is_comparable ? shape : std::vector<std::int64_t>();
}

RolloutData open_data(const StoredNetwork& network, std::shared_ptr<const StoredLevels> starts,
                      const RolloutArguments& arguments) {
  const ArrayOptions options = trajectory_options(network);
  RolloutData data;
  data.starts = std::move(starts);
  const LevelLayout layout = level_layout(options, data.starts->store());
  require_fits(network, layout, arguments.start);
  const GridAxes& axes = data.starts->store().axes();
  const LevelStep step = data.starts->store().level_step();
  const std::string training = fmt::format("the training data of {}", network.path);
  require_same_axes(network.samples.axes, training, axes, arguments.start);
  require_same_step(network.samples.level_step, training, step, arguments.start);
  require_same_masks(network.samples.masks, training, data.starts->store().masks(), arguments.start);
  if (!arguments.truth.empty()) {
    data.truth = std::make_shared<const StoredLevels>(std::vector{arguments.truth}, options, options.targets,
                                                      std::vector<std::string>{});
    std::vector<std::int64_t> grid = data.truth->store().grid();
    if (!grid.empty()) grid.pop_back();
    if (grid != layout.extents)
      fail_input(errors::data_mismatch, "{}: its fields lie on another grid than those of {}",
                 arguments.truth, arguments.start);
    // Other arrays may be staggered.
    const bool same_array = options.inputs.front() == options.targets.front();
    (same_array ? require_same_axes : require_same_directions)(axes, arguments.start,
                                                               data.truth->store().axes(), arguments.truth);
    require_same_step(step, arguments.start, data.truth->store().level_step(), arguments.truth);
    require_same_masks(network.samples.masks, training, data.truth->store().masks(), arguments.truth);
  }
  std::vector<RolloutMember> members =
      rollout_members(*data.starts, layout, arguments.samples, arguments.starts, arguments.steps);
  const std::int64_t predicted = arguments.steps * layout.ahead;
  for (const RolloutMember& member : members) {
    data.starts->require_no_gap(member,
                                layout.history + (layout.has_forcings() ? predicted - layout.ahead : 0));
    if (data.truth != nullptr) data.truth->require_no_gap(member, layout.history + predicted);
  }
  data.trajectories.emplace(options, data.starts, data.truth, std::move(members));
  if (data.truth != nullptr && !data.trajectories->has_truth(0, 1)) {
    fail_input(errors::too_little_data, "{}: ends before the first level that is predicted", arguments.truth);
  }
  return data;
}

std::string name_of(const RolloutMember& member, bool has_samples) {
  return has_samples ? fmt::format("sample {} from level {}", member.trajectory, member.first_level)
                     : fmt::format("from level {}", member.first_level);
}

/// What rank 0 writes while the rollout goes on.
class Levels {
 public:
  Levels(const RolloutArguments& arguments, const StoredNetwork& network, const RolloutData& data)
      : data_(*data.trajectories),
        names_(network.samples.target_names),
        upward_(rows_run_north(data.starts->store())) {
    const LevelLayout& layout = data_.layout();
    FieldFileShape shape{.arrays = network.options.data.arrays.targets,
                         .members = {},
                         .is_one_start = true,
                         .levels = {},
                         .checkpoint = network.path,
                         .parts = {}};
    for (std::int64_t member = 0; member < data_.members(); ++member) {
      const RolloutMember& one = data_.member(member);
      shape.members.push_back(one.trajectory);
      shape.is_one_start = shape.is_one_start && one.first_level == data_.member(0).first_level;
      members.push_back(name_of(one, data.starts->trajectories() > 1));
    }
    for (std::int64_t step = 0; step <= arguments.steps; ++step)
      shape.levels.push_back(data_.member(0).first_level + layout.history - 1 + step * layout.ahead);
    pictured_members_ = chosen_by_seed(network.options.run.seed, data_.members(), max_pictured_members);
    pictured_steps_ = {1, (arguments.steps + 1) / 2, arguments.steps};
    truth_.resize(static_cast<std::size_t>(layout.state_values()));
    file_.emplace(arguments.output, data.starts->store(), shape);
  }

  void take(std::int64_t member, std::int64_t step, std::span<const float> state) {
    file_->write(member, step, state);
    if (std::ranges::find(pictured_members_, member) == pictured_members_.end() ||
        std::ranges::find(pictured_steps_, step) == pictured_steps_.end() || !data_.has_truth(member, step))
      return;
    data_.read_truth(member, step, truth_);
    const std::int64_t channels = data_.layout().outputs();
    for (std::size_t channel = 0;
         channel < std::min<std::size_t>(static_cast<std::size_t>(channels), max_pictured_channels);
         ++channel) {
      FieldPicture picture =
          make_picture(data_.layout().extents, channels, static_cast<std::int64_t>(channel), truth_, state);
      picture.upward = upward_;
      picture.title = fmt::format("{}, step {}", members[static_cast<std::size_t>(member)], step);
      picture.channel = channel < names_.size() ? names_[channel] : fmt::format("channel {}", channel);
      pictures_[{member, step, channel}] = std::move(picture);
    }
  }

  [[nodiscard]] FieldFile& file() { return *file_; }
  /// By member, step and channel, whichever rank was first.
  [[nodiscard]] std::vector<FieldPicture> pictures() const {
    std::vector<FieldPicture> pictures;
    for (const auto& [index, picture] : pictures_) pictures.push_back(picture);
    return pictures;
  }

  std::vector<std::string> members;  // their names

 private:
  const StoredTrajectories& data_;
  std::vector<std::string> names_;
  bool upward_;
  std::vector<std::int64_t> pictured_members_;
  std::vector<std::int64_t> pictured_steps_;
  std::vector<float> truth_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::size_t>, FieldPicture> pictures_;
  std::optional<FieldFile> file_;
};

std::string cell(double value) {
  return std::isnan(value) ? fmt::format("{:>12}", "-") : fmt::format("{:>12.4g}", value);
}

/// Prints about ten of the steps.
void print_table(const Output& output, const RolloutResult& result, bool has_truth) {
  std::string head = fmt::format("{:>8}{:>12}", "step", "energy");
  if (has_truth)
    head += fmt::format("{:>12}{:>12}{:>12}{:>14}{:>12}", "relative L2", "nRMSE", "correlation",
                        "persistence", "true energy");
  output.line(head);
  constexpr std::int64_t max_lines = 10;
  std::int64_t shown = 0;
  for (std::int64_t line = 1; line <= max_lines; ++line) {
    const std::int64_t step = std::max<std::int64_t>(1, result.steps * line / max_lines);
    if (step == shown) continue;
    shown = step;
    const MemberStep mean = result.mean(step);
    std::string text = fmt::format("{:>8}{}", step, cell(mean.energy));
    if (has_truth) {
      text += cell(mean.network.relative_l2) + cell(mean.network.nrmse) + cell(mean.network.correlation) +
              "  " + cell(mean.persistence.nrmse) + cell(mean.truth_energy);
    }
    output.line(text);
  }
}

/// Returns the mean error of the steps that have a truth, which may end before the rollout.
std::string describe_error(const RolloutResult& result) {
  const std::int64_t compared = result.compared_steps();
  const std::string steps =
      compared == result.steps ? "the steps" : fmt::format("the {} steps that have a truth", compared);
  return fmt::format("nRMSE, mean over {}: {:.6g}", steps, result.mean_nrmse());
}

/// Returns "warning: 3 of 8 members become inf or NaN, the first (sample 2 from level 0) at step 57"; "" if
/// all members are finite.
std::string describe_not_finite(const RolloutResult& result, const std::vector<std::string>& members) {
  std::int64_t count = 0;
  std::int64_t earliest = 0;
  std::string name;
  for (std::int64_t member = 0; member < result.members; ++member) {
    const std::int64_t step = result.first_not_finite(member);
    if (step == 0) continue;
    ++count;
    if (earliest != 0 && step >= earliest) continue;
    earliest = step;
    name = members[static_cast<std::size_t>(member)];
  }
  if (count == 0) return "";
  return fmt::format("warning: {} of {} members become inf or NaN, the first ({}) at step {}", count,
                     result.members, name, earliest);
}

}  // namespace

ExitCode rollout_command(const RolloutArguments& arguments) {
  std::shared_ptr<const StoredLevels> starts;
  std::shared_ptr<const PointWeights> weights;
  const auto open = open_model(arguments.run, [&](const CheckpointReader& reader) {
    OpenedNetwork opened{read_stored_network(reader)};
    weights = stored_point_weights(reader);
    run_on_all(reader.ranks(), [&] {
      check(opened.network, arguments);
      starts = open_starts(opened.network, arguments.start);
      move_to_grid(opened.network, shape_of_samples(opened.network, *starts));
    });
    return opened;
  });
  const StoredNetwork& network = open->network();
  RankGroup& ranks = open->communicator->ranks();
  const bool is_first = ranks.rank() == 0;
  RolloutData data;
  std::optional<RowInference> rows;
  RolloutRequest request{.steps = arguments.steps, .members_at_once = 1, .has_spectrum = true, .take = {}};
  // Rank 0 writes while others read: an HDF5 library for MPI may make MPI calls, so not by run_on_first.
  std::optional<Levels> levels;
  run_on_all(ranks, [&] {
    data = open_data(network, std::move(starts), arguments);
    const LevelLayout& layout = data.trajectories->layout();
    const std::int64_t rows_of_member = layout.points_are_samples ? layout.points() : 1;
    request.members_at_once =
        std::clamp<std::int64_t>(open->model->samples() / rows_of_member, 1, data.trajectories->members());
    if (weights != nullptr && weights->extents == layout.extents) request.weights = weights->values;
    require_memory(arguments.start, rollout_bytes(layout, request, data.trajectories->members()));
    rows.emplace(open->context(), network.training.normalizer);
    if (is_first) levels.emplace(arguments, network, data);
  });
  request.take = [&](std::int64_t member, std::int64_t step, std::span<const float> state) {
    levels->take(member, step, state);
  };
  const RolloutResult result = roll_out(*rows, ranks, *data.trajectories, request);
  run_on_all(ranks, [&] {
    if (is_first) levels->file().close();
  });
  const OutputPaths paths = paths_beside(arguments.output);
  run_on_first(ranks, [&] {
    levels->file().publish();
    publish_text(paths.errors, error_table(result));
    publish_text(paths.spectrum, spectrum_table(result));
    write_rollout_file(paths.document, {.network = network.path,
                                        .step = network.step,
                                        .start = arguments.start,
                                        .truth = arguments.truth,
                                        .members = levels->members,
                                        .result = &result,
                                        .pictures = levels->pictures()});
  });
  if (!is_first) return ExitCode::done;
  const Output output = standard_output(0);
  output.line(fmt::format("{}: {} step{} of {} member{}{}", arguments.output, result.steps,
                          result.steps == 1 ? "" : "s", result.members, result.members == 1 ? "" : "s",
                          arguments.truth.empty() ? "" : ", compared with " + arguments.truth));
  if (weights != nullptr && request.weights.empty())
    output.line("all points count alike: the weights of the training are those of another grid");
  print_table(output, result, !arguments.truth.empty());
  if (!arguments.truth.empty()) output.line(describe_error(result));
  if (const std::string text = describe_not_finite(result, levels->members); !text.empty()) output.line(text);
  output.line(fmt::format("{}, {}, {}", paths.errors, paths.spectrum, paths.document));
  return ExitCode::done;
}

}  // namespace mylos::app
