#include "commands/rollout_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "commands/rollout_members.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/samples.hpp"

namespace mylos::app {
namespace {

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

/// Returns the masks of the arrays of a file, those of diagnostics too.
std::vector<MaskSummary> masks_of(const ArrayStore& store, const ArrayOptions& options) {
  std::vector<MaskSummary> masks = store.masks();
  for (const std::string& target : options.targets) {
    if (std::ranges::find(options.inputs, target) != options.inputs.end()) continue;
    if (const std::vector<std::uint8_t> mask = store.mask_of(target); !mask.empty())
      masks.push_back(summary_of(target, mask));
  }
  return masks;
}

}  // namespace

ArrayOptions trajectory_options(const StoredNetwork& network) {
  ArrayOptions options = network.options.data.arrays;
  options.slice = slices_of_trajectories(options.slice);
  options.compare_times_if(network.samples.level_step.is_stated());
  return options;
}

void require_same_fields(const StoredLevels& starts, const std::string& start, const StoredLevels& other,
                         const std::string& path, const ArrayOptions& options) {
  const auto extents = [](const StoredLevels& levels) {
    std::vector<std::int64_t> grid = levels.store().grid();
    if (!grid.empty()) grid.pop_back();
    return grid;
  };
  if (extents(starts) != extents(other))
    fail_input(errors::data_mismatch, "{}: its fields lie on another grid than those of {}", path, start);
  const std::int64_t width = level_layout(options, starts.store()).state_values();
  if (other.store().features() != width) {
    fail_input(errors::data_mismatch, "{}: its targets have {} numbers in a level, and those of {} {}", path,
               other.store().features(), start, width);
  }
  // Other arrays may be staggered.
  const bool same_array = options.inputs.front() == options.targets.front();
  (same_array ? require_same_axes : require_same_directions)(starts.store().axes(), start,
                                                             other.store().axes(), path);
}

void require_levels(const StoredNetwork& network) {
  if (network.options.data.arrays.given()) return;
  fail_input(errors::wrong_format,
             "{}: was not trained on arrays: its deck has no [data.arrays], which says what a level is",
             network.path);
}

std::shared_ptr<const StoredLevels> open_starts(const StoredNetwork& network, const std::string& file) {
  const ArrayOptions options = trajectory_options(network);
  return std::make_shared<const StoredLevels>(std::vector{file}, options, LevelsOf::inputs);
}

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
  require_same_masks(network.samples.masks, training, masks_of(data.starts->store(), options),
                     arguments.start);
  if (!arguments.truth.empty()) {
    data.truth =
        std::make_shared<const StoredLevels>(std::vector{arguments.truth}, options, LevelsOf::targets);
    require_same_fields(*data.starts, arguments.start, *data.truth, arguments.truth, options);
    require_same_step(step, arguments.start, data.truth->store().level_step(), arguments.truth);
    if (options.gaps != TimeGaps::ignore)
      require_same_instants(data.starts->store().times(0), arguments.start, data.truth->store().times(0),
                            arguments.truth);
    require_same_masks(network.samples.masks, training, data.truth->store().masks(), arguments.truth);
  }
  std::vector<RolloutMember> members =
      rollout_members(*data.starts, layout, arguments.samples, arguments.starts, arguments.steps);
  const std::int64_t predicted = arguments.steps * layout.ahead;
  for (const RolloutMember& member : members) {
    data.starts->require_no_gap(member,
                                layout.history + (layout.has_forcings() ? predicted - layout.ahead : 0));
    if (data.truth != nullptr && member.trajectory < data.truth->trajectories())
      data.truth->require_no_gap(member, layout.history + predicted);
  }
  data.trajectories.emplace(options, data.starts, data.truth, std::move(members), network.samples.level_step);
  if (data.truth != nullptr && !data.trajectories->has_truth(0, 1)) {
    fail_input(errors::too_little_data, "{}: ends before the first level that is predicted", arguments.truth);
  }
  return data;
}

}  // namespace mylos::app
