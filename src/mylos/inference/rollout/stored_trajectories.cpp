#include "mylos/inference/rollout/stored_trajectories.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/numbers/grid_box.hpp"

namespace mylos {
namespace {

std::int64_t channels_of(const ArrayStore& levels, const std::string& array) {
  for (const AxisCoordinates& axis : levels.coordinates(0, array).axes)
    if (axis.axis == channel_axis) return axis.extent;
  return 1;
}

/// Returns the options by which each level is a sample.
ArrayOptions level_options(const ArrayOptions& of, LevelsOf levels) {
  ArrayOptions options = of;
  if (levels == LevelsOf::targets) {
    options.inputs = of.targets;
    options.constants.clear();
    options.encodings.clear();
    options.known_inputs = false;
  }
  options.targets.clear();
  options.history = options.ahead = options.every = 1;
  options.targets_are = TargetsAre::state;
  options.differences.clear();
  options.points_are_samples = false;
  options.statistics.clear();
  if (options.gaps == TimeGaps::error) options.gaps = TimeGaps::split;  // see StoredLevels::follow()
  const auto used = [&](const ArrayAxes& axes) {
    return std::ranges::find(options.inputs, axes.array) != options.inputs.end() ||
           std::ranges::find(options.constants, axes.array) != options.constants.end() ||
           std::ranges::find(of.targets, axes.array) != of.targets.end() || options.is_mask(axes.array);
  };
  std::erase_if(options.axes_of, [&](const ArrayAxes& axes) { return !used(axes); });
  return options;
}

}  // namespace

std::int64_t end_of_trajectory(const ArrayStore& store, std::int64_t first, std::int64_t end) {
  const std::int64_t trajectory = store.location_of(first).sample;
  std::int64_t low = first + 1;
  while (low < end) {
    const std::int64_t middle = low + (end - low) / 2;
    if (store.location_of(middle).sample == trajectory) {
      low = middle + 1;
    } else {
      end = middle;
    }
  }
  return low;
}

StoredLevels::StoredLevels(const std::vector<std::string>& names, const ArrayOptions& options, LevelsOf of)
    : store_(open_array_store(names, level_options(options, of), 1, GroundTruth::optional,
                              grid_axes_of(options))) {
  for (std::size_t file = 0; file < store_->files().size(); ++file) {
    const Split samples = store_->samples_of(static_cast<std::int64_t>(file));
    const std::int64_t end = samples.first + samples.count;
    for (std::int64_t first = samples.first; first < end;) {
      const std::int64_t next = end_of_trajectory(*store_, first, end);
      all_.push_back({first, next - first});
      first = next;
    }
  }
}

StoredLevels::StoredLevels(const StoredLevels& whole, const GridPart& part)
    : store_(whole.store_),
      box_(std::dynamic_pointer_cast<ArrayStore>(whole.store_->part(part))),
      all_(whole.all_) {}

std::int64_t StoredLevels::levels(std::int64_t trajectory) const {
  return all_[static_cast<std::size_t>(trajectory)].count;
}

void StoredLevels::read(std::int64_t trajectory, std::int64_t level, std::span<float> values) const {
  const ArrayStore& store = box_ ? *box_ : *store_;
  store.read_inputs(all_[static_cast<std::size_t>(trajectory)].first + level, 1, values.data());
}

const LevelTimes& StoredLevels::times(std::int64_t trajectory) const {
  return store_->times(store_->location_of(all_[static_cast<std::size_t>(trajectory)].first).file);
}

void StoredLevels::encode(std::int64_t trajectory, std::int64_t level, const LevelStep& step,
                          std::span<float> values) const {
  const std::int64_t file = store_->location_of(all_[static_cast<std::size_t>(trajectory)].first).file;
  const double step_ms = step.length * milliseconds_of_unit(step.unit);
  if (levels(trajectory) == 1 && level > 0 && step_ms == 0) {
    fail_input(errors::too_little_data,
               "{}: has one level, and neither it nor the training says how far apart levels are, by which "
               "data.arrays.encodings would be computed of later times; give a file of two levels",
               store_->path());
  }
  (box_ ? *box_ : *store_).encode_level(file, level, step_ms, values.data());
}

bool StoredLevels::follow(std::int64_t trajectory, std::int64_t first, std::int64_t count) const {
  const Split& samples = all_[static_cast<std::size_t>(trajectory)];
  const std::int64_t end = std::min(first + count, samples.count);
  return end <= first || store_->follow(samples.first + first, samples.first + end - 1);
}

void StoredLevels::require_no_gap(const RolloutMember& member, std::int64_t count) const {
  if (follow(member.trajectory, member.first_level, count)) return;
  fail_input(
      errors::data_mismatch,
      "{}: between levels {} and {} (counted from 0) one is missing, repeated or out of order in time, and "
      "the rollout from level {} counts levels; begin elsewhere, take fewer steps, or complete the file",
      store_->path(), member.first_level, member.first_level + count - 1, member.first_level);
}

std::vector<AxisSlice> slices_of_trajectories(const std::vector<AxisSlice>& slices) {
  std::vector<AxisSlice> all;
  for (AxisSlice slice : slices) {
    if (slice.axis == time_axis) slice.begin = slice.end = std::nullopt;
    if (slice.axis != sample_axis) all.push_back(std::move(slice));
  }
  return all;
}

LevelLayout level_layout(const ArrayOptions& options, const ArrayStore& levels) {
  if (options.history > 1 && options.ahead > 1) {
    fail_input(errors::data_mismatch,
               "a network with data.arrays.history = {} and ahead = {} cannot be applied to its own outputs: "
               "the levels between them are not predicted; one of the two must be 1",
               options.history, options.ahead);
  }
  LevelLayout layout;
  layout.extents = levels.grid();
  if (!layout.extents.empty()) layout.extents.pop_back();
  layout.history = options.history;
  layout.ahead = options.ahead;
  layout.constants = levels.rollout().constants;
  layout.encoded = levels.rollout().encoded;
  layout.has_missing = !options.missing.empty();
  layout.points_are_samples = options.points_are_samples;
  std::vector<std::int64_t> first;  // channel of each input
  for (const std::string& input : options.inputs) {
    first.push_back(layout.channels);
    layout.channels += channels_of(levels, input);
  }
  std::vector<std::int64_t> first_known;  // channel that says where each input is known; -1: none
  for (const std::string& input : options.inputs) {
    const bool has_known = options.known_inputs && options.may_be_missing(input);
    first_known.push_back(has_known ? layout.channels : -1);
    if (has_known) layout.channels += channels_of(levels, input);
  }
  layout.channels += layout.encoded;
  std::vector<std::vector<std::uint8_t>> masks;  // of each target
  std::vector<std::int64_t> widths;
  for (const std::string& target : options.targets) {
    const auto found = std::ranges::find(options.inputs, target);
    const bool is_state = found != options.inputs.end();
    const auto input = static_cast<std::size_t>(found - options.inputs.begin());
    masks.push_back(levels.mask_of(target));
    widths.push_back(channels_of(levels, target));
    for (std::int64_t i = 0; i < widths.back(); ++i) {
      layout.state.push_back(is_state ? first[input] + i : -1);
      if (options.known_inputs)
        layout.known.push_back(is_state && first_known[input] >= 0 ? first_known[input] + i : -1);
      if (options.has_differences()) layout.adds_newest.push_back(options.is_difference(target) ? 1 : 0);
    }
  }
  if (std::ranges::none_of(layout.state, [](std::int64_t channel) { return channel >= 0; })) {
    fail_input(errors::data_mismatch,
               "no output of the network is fed back: none of data.arrays.targets ({}) is among its inputs",
               fmt::join(options.targets, ", "));
  }
  if (std::ranges::all_of(masks, [](const auto& mask) { return mask.empty(); })) return layout;
  for (std::int64_t point = 0; point < layout.points(); ++point)
    for (std::size_t i = 0; i < masks.size(); ++i)
      for (std::int64_t c = 0; c < widths[i]; ++c)
        layout.state_mask.push_back(
            masks[i].empty() ? 1 : masks[i][static_cast<std::size_t>(point * widths[i] + c)]);
  return layout;
}

ScoreAxes score_axes(const ArrayOptions& options, const ArrayStore& truth, std::int64_t steps) {
  ScoreAxes axes;
  axes.variables = truth.input_names();
  for (const std::string& target : options.targets) {
    const ArrayCoordinates array = truth.coordinates(0, target);
    std::int64_t channels = 1;
    for (const AxisCoordinates& axis : array.axes)
      if (axis.axis == channel_axis) channels = axis.extent;
    const auto units = std::ranges::find(array.attributes, "units", &hdf5::Attribute::name);
    const std::string unit = units == array.attributes.end() ? "" : units->text;
    axes.units.insert(axes.units.end(), static_cast<std::size_t>(channels), unit);
  }
  for (std::int64_t step = 1; step <= steps; ++step) axes.levels.push_back(step * options.ahead);
  const LevelStep distance = truth.level_step();
  axes.level_duration = distance.length;
  axes.duration_unit = distance.unit;
  return axes;
}

std::vector<RolloutMember> members_by_stride(const StoredLevels& levels, const LevelLayout& layout,
                                             std::int64_t steps, std::int64_t stride) {
  std::vector<RolloutMember> members;
  for (std::int64_t trajectory = 0; trajectory < levels.trajectories(); ++trajectory) {
    const std::int64_t needed = layout.history + steps * layout.ahead;
    for (std::int64_t first = 0; first + needed <= levels.levels(trajectory); first += stride)
      if (levels.follow(trajectory, first, needed)) members.push_back({trajectory, first});
  }
  return members;
}

StoredTrajectories::StoredTrajectories(const ArrayOptions& options,
                                       std::shared_ptr<const StoredLevels> starts,
                                       std::shared_ptr<const StoredLevels> truth,
                                       std::vector<RolloutMember> members, LevelStep step)
    : starts_(std::move(starts)),
      truth_(std::move(truth)),
      members_(std::move(members)),
      step_(std::move(step)),
      layout_(level_layout(options, starts_->store())) {}

StoredTrajectories::StoredTrajectories(const StoredTrajectories& whole, const GridPart& part)
    : starts_(std::make_shared<const StoredLevels>(*whole.starts_, part)),
      members_(whole.members_),
      step_(whole.step_),
      layout_(whole.layout_) {
  const GridBox box = box_of(part, layout_.extents, whole.starts_->store().path());
  const std::size_t lacking = box.count.size() - layout_.extents.size();
  for (std::size_t axis = 0; axis < layout_.extents.size(); ++axis)
    layout_.extents[axis] = box.count[lacking + axis];
  layout_.state_mask = cut(layout_.state_mask, box);
}

void StoredTrajectories::read_level(std::int64_t member, std::int64_t level, std::span<float> values) const {
  const RolloutMember& one = this->member(member);
  const std::int64_t of_file = one.first_level + layout_.history - 1 + level;
  if (level > 0 && !layout_.has_stored_forcings())
    return starts_->encode(one.trajectory, of_file, step_, values);
  starts_->read(one.trajectory, of_file, values);
}

bool StoredTrajectories::has_truth(std::int64_t member, std::int64_t step) const {
  if (truth_ == nullptr) return false;
  const std::int64_t trajectory = this->member(member).trajectory;
  return trajectory < truth_->trajectories() && level_of_truth(member, step) < truth_->levels(trajectory);
}

std::int64_t StoredTrajectories::level_of_truth(std::int64_t member, std::int64_t step) const {
  return this->member(member).first_level + layout_.history - 1 + step * layout_.ahead;
}

void StoredTrajectories::read_truth(std::int64_t member, std::int64_t step, std::span<float> state) const {
  truth_->read(this->member(member).trajectory, level_of_truth(member, step), state);
}

}  // namespace mylos
