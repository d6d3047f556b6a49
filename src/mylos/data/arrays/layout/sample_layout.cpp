#include "mylos/data/arrays/layout/sample_layout.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/data/arrays/layout/layout_of_box.hpp"

namespace mylos {
namespace {

bool is_listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Makes the lists of channels of one layout.
class LayoutMaker {
 public:
  LayoutMaker(const ArrayOptions& options, std::int64_t steps, SampleLayout& layout)
      : options_(options),
        layout_(layout),
        has_time_(is_listed(options.axes_for(options.inputs.front()), std::string(time_axis))),
        of_time_(encoded_channels(options.encodings, true)),
        of_places_(encoded_channels(options.encodings, false)) {
    layout.rollout.steps = steps;
    layout.rollout.history = options.history;
    layout.rollout.ahead = has_time_ ? options.ahead : 0;
    layout.every = has_time_ ? options.every : 1;
  }

  void require_time_for_windows() const {
    if (has_time_) return;
    if (!of_time_.empty()) {
      fail_input(errors::keys_conflict,
                 "data.arrays.encodings: {} has no axis \"time\", of which \"{}\" is computed",
                 options_.inputs.front(), name_of(of_time_.front().of));
    }
    if (options_.history > 1 || options_.has_differences() || layout_.rollout.steps > 1) {
      fail_input(errors::keys_conflict,
                 "data.arrays: {} has no axis \"time\", which history above 1, targets that are differences "
                 "and rollouts need",
                 options_.inputs.front());
    }
  }

  void require_feedback() const {
    if (layout_.rollout.steps == 1) return;
    if (std::ranges::none_of(options_.targets,
                             [&](const std::string& target) { return is_listed(options_.inputs, target); })) {
      fail_input(
          errors::keys_conflict,
          "rollout.steps = {}: no array of data.arrays.targets is an input, so that no output would be fed "
          "back; add to data.arrays.inputs the states among: {}",
          layout_.rollout.steps, fmt::join(options_.targets, ", "));
    }
    if (options_.ahead == 1 || (options_.history == 1 && options_.ahead > 0)) return;
    fail_input(errors::keys_conflict,
               "rollout.steps = {} with data.arrays.history = {} and ahead = {}: a step must give the next "
               "level of the history; use ahead = 1, or history = 1",
               layout_.rollout.steps, options_.history, options_.ahead);
  }

  void add_inputs() {
    const RolloutLayout& rollout = layout_.rollout;
    for (std::int64_t level = 0; level < options_.history; ++level) {
      const std::int64_t age = options_.history - 1 - level;
      const std::string when = options_.history == 1 ? "" : age == 0 ? "(t)" : fmt::format("(t-{})", age);
      for (const std::string& name : options_.inputs)
        add({.array = number_of(name), .level = level}, when, layout_.inputs, layout_.input_names);
      add_known(level, when);
      add_encoded(of_time_, level, when);
    }
    for (const std::string& name : options_.constants)
      add({.array = number_of(name)}, "", layout_.inputs, layout_.input_names);
    add_encoded(of_places_, 0, "");
    for (std::int64_t step = 1; step < rollout.steps; ++step) {
      const std::int64_t later = step * rollout.ahead;
      const std::int64_t level = options_.history - 1 + later;
      const std::string when = fmt::format("(t+{})", later);
      for (const std::string& name : options_.inputs) {
        if (is_listed(options_.targets, name)) continue;
        add({.array = number_of(name), .level = level}, when, layout_.inputs, layout_.input_names);
      }
      add_known(level, when);
      add_encoded(of_time_, level, when);
    }
  }

  void add_targets() {
    const RolloutLayout& rollout = layout_.rollout;
    for (std::int64_t step = 1; step <= rollout.steps; ++step) {
      for (const std::string& name : options_.targets) {
        const std::int64_t newest = options_.history - 1 + (step - 1) * rollout.ahead;
        ChannelSource source{.array = number_of(name), .level = newest + rollout.ahead};
        if (options_.is_difference(name)) source.minus = newest;
        const std::string when = rollout.steps == 1 ? "" : fmt::format("(t+{})", step * rollout.ahead);
        add(source, when, layout_.targets, layout_.target_names);
      }
    }
  }

  void add_rollout() {
    RolloutLayout& rollout = layout_.rollout;
    std::int64_t channel = 0;
    std::vector<std::pair<std::size_t, std::int64_t>> firsts;  // first channel within a level, of each input
    for (const std::string& name : options_.inputs) {
      const std::size_t array = number_of(name);
      firsts.emplace_back(array, channel);
      for (std::int64_t i = 0; i < channels_of(array); ++i, ++channel)
        if (!is_listed(options_.targets, name)) rollout.forcing.push_back(channel);
    }
    for (const std::string& name : options_.inputs) {
      for (std::int64_t i = 0; has_known(name) && i < channels_of(number_of(name)); ++i)
        rollout.forcing.push_back(channel++);
    }
    rollout.encoded = std::ssize(of_time_);
    for (std::int64_t i = 0; i < rollout.encoded; ++i) rollout.forcing.push_back(channel++);
    rollout.level_channels = channel;
    rollout.constants = std::ssize(of_places_);
    for (const std::string& name : options_.constants) rollout.constants += channels_of(number_of(name));
    for (const std::string& name : options_.targets) {
      const std::size_t array = number_of(name);
      const auto input =
          std::find_if(firsts.begin(), firsts.end(), [&](const auto& first) { return first.first == array; });
      for (std::int64_t i = 0; i < channels_of(array); ++i) {
        rollout.state.push_back(input == firsts.end() ? -1 : input->second + i);
        if (options_.has_differences()) rollout.adds_newest.push_back(options_.is_difference(name) ? 1 : 0);
      }
    }
  }

 private:
  [[nodiscard]] std::size_t number_of(const std::string& name) const {
    return static_cast<std::size_t>(std::find(layout_.arrays.begin(), layout_.arrays.end(), name) -
                                    layout_.arrays.begin());
  }
  [[nodiscard]] std::int64_t channels_of(std::size_t array) const { return layout_.extents[array].channels; }

  [[nodiscard]] bool has_known(const std::string& input) const {
    return options_.known_inputs && options_.may_be_missing(input);
  }

  /// Adds the channels that say where the inputs of a level are known. A level without the values is one of
  /// states that are predicted.
  void add_known(std::int64_t level, const std::string& when) {
    for (const std::string& input : options_.inputs) {
      if (!has_known(input)) continue;
      const std::size_t array = number_of(input);
      const auto values_at = [&](std::int64_t of_level) {
        return std::ranges::find_if(layout_.inputs, [&](const ChannelSource& source) {
          return source.array == array && source.level == of_level;
        });
      };
      const bool is_predicted = values_at(level) == layout_.inputs.end();
      const ChannelSource& values = *values_at(is_predicted ? options_.history - 1 : level);
      layout_.known.push_back({values.first, is_predicted, std::ssize(layout_.input_names), values.count});
      for (std::int64_t i = 0; i < values.count; ++i)
        layout_.input_names.push_back(fmt::format("known({}){}", name_of_channel(array, i), when));
    }
  }

  /// Returns "u", or "u[0]" of an array with channels.
  [[nodiscard]] std::string name_of_channel(std::size_t array, std::int64_t channel) const {
    const std::string& path = layout_.arrays[array];
    const std::string name = path.substr(std::min(path.size(), path.find_first_not_of('/')));
    return name + (channels_of(array) == 1 ? "" : fmt::format("[{}]", channel));
  }

  void add_encoded(const std::vector<EncodedChannel>& channels, std::int64_t level, const std::string& when) {
    for (const EncodedChannel& channel : channels) {
      layout_.encoded.push_back({channel, level, std::ssize(layout_.input_names)});
      layout_.input_names.push_back(name_of(channel) + when);
    }
  }

  void add(ChannelSource source, const std::string& when, std::vector<ChannelSource>& sources,
           std::vector<std::string>& names) {
    source.first = static_cast<std::int64_t>(names.size());
    source.count = channels_of(source.array);
    sources.push_back(source);
    for (std::int64_t i = 0; i < source.count; ++i) names.push_back(name_of_channel(source.array, i) + when);
  }

  const ArrayOptions& options_;
  SampleLayout& layout_;
  bool has_time_;
  std::vector<EncodedChannel> of_time_;
  std::vector<EncodedChannel> of_places_;
};

/// Returns whether an array has all axes of the grid, or repeats its values along those that it lacks.
bool fits_grid(const OpenArray& array, const std::vector<std::int64_t>& grid) {
  std::vector<std::int64_t> own = array.extents().grid;
  std::vector<bool> has(grid.size(), false);
  for (const SlicedAxis& axis : array.axes())
    if (axis.role == AxisRole::grid) has[axis.grid] = true;
  for (std::size_t k = 0; k < grid.size(); ++k)
    if (!has[k]) own[k] = grid[k];
  return own == grid;
}

/// Refuses samples whose size cannot be counted.
void require_countable(const SampleLayout& layout) {
  constexpr std::int64_t max_numbers = std::int64_t{1} << 40;  // numbers of a sample
  constexpr std::int64_t max_channels = std::int64_t{1} << 20;
  const auto channels = static_cast<std::int64_t>(layout.input_names.size() + layout.target_names.size());
  double points = 1;
  for (const std::int64_t extent : layout.grid) points *= static_cast<double>(extent);
  if (channels <= max_channels && points * static_cast<double>(channels) < static_cast<double>(max_numbers))
    return;
  fail_input(errors::too_large, "data.arrays: a sample has {} channels on a grid of [{}], too many to hold",
             channels, fmt::join(layout.grid, ", "));
}

}  // namespace

std::vector<std::string> arrays_of(const ArrayOptions& options) {
  std::vector<std::string> arrays = options.inputs;
  for (const auto* others : {&options.targets, &options.constants}) {
    for (const std::string& name : *others)
      if (!is_listed(arrays, name)) arrays.push_back(name);
  }
  return arrays;
}

SampleLayout sample_layout(const ArrayOptions& options, std::int64_t steps,
                           const std::vector<OpenArray>& first_file) {
  SampleLayout layout{.arrays = arrays_of(options)};
  layout.first_constant = layout.arrays.size() - options.constants.size();
  constexpr std::int64_t max_channels = std::int64_t{1} << 20;
  for (std::size_t i = 0; i < first_file.size(); ++i) {
    const StoredExtents& extents = first_file[i].extents();
    const StoredExtents& first = first_file.front().extents();
    if (!fits_grid(first_file[i], first.grid) || extents.channels > max_channels ||
        (!layout.is_constant(i) &&
         (extents.levels != first.levels || extents.trajectories != first.trajectories))) {
      const auto text = [](const StoredExtents& of) {
        return fmt::format("{} x {} levels on a grid of [{}]", of.trajectories, of.levels,
                           fmt::join(of.grid, ", "));
      };
      fail_input(errors::bad_dataset, "{}: arrays {} and {} do not fit each other: {} and {}, after slicing",
                 first_file[i].array().file_path(), layout.arrays.front(), layout.arrays[i], text(first),
                 text(extents));
    }
    layout.extents.push_back(extents);
    layout.types.push_back(first_file[i].conversion().type);
    layout.exact_in_float.push_back(first_file[i].is_exact_in_float());
  }
  layout.grid = layout.extents.front().grid;
  LayoutMaker maker(options, steps, layout);
  maker.require_time_for_windows();
  maker.require_feedback();
  maker.add_rollout();
  maker.add_inputs();
  maker.add_targets();
  require_countable(layout);
  for (const StoredExtents& extents : layout.extents)
    layout.own_strides.push_back(own_strides_of(extents.grid, layout.grid));
  if (!options.points_are_samples) {
    for (const std::int64_t extent : layout.grid) layout.rollout.points *= extent;
  }
  for (const auto* sources : {&layout.inputs, &layout.targets}) {
    for (const ChannelSource& source : *sources) layout.span = std::max(layout.span, source.level + 1);
  }
  for (const EncodedSource& source : layout.encoded) layout.span = std::max(layout.span, source.level + 1);
  return layout;
}

DatasetShape shape_of_samples(const SampleLayout& layout, std::int64_t windows, std::int64_t points,
                              const std::string& name) {
  if (windows > std::numeric_limits<std::int64_t>::max() / points)
    fail_input(errors::too_large, "{}: has more samples than 63 bits can count", name);
  const std::int64_t of_sample = layout.rollout.points;
  DatasetShape shape;
  shape.task = layout.targets.empty() ? Task::none : Task::regression;
  shape.input_type = DType::fp32;
  shape.samples = windows * points;
  shape.features = of_sample * static_cast<std::int64_t>(layout.input_names.size());
  shape.outputs = of_sample * static_cast<std::int64_t>(layout.target_names.size());
  return shape;
}

void refuse_too_short(const SampleLayout& layout, const ArrayOptions& options, std::int64_t levels,
                      bool in_parts, const std::string& path) {
  const auto plural = [](std::int64_t count) { return count == 1 ? "" : "s"; };
  fail_input(
      errors::too_little_data,
      "{}: {} has {} level{} along its time axis after slicing{}, a window needs {} (history {}, then {} "
      "step{} of {})",
      path, layout.arrays.front(), levels, plural(levels), in_parts ? " in parts between gaps" : "",
      layout.span, options.history, layout.rollout.steps, plural(layout.rollout.steps), options.ahead);
}

void require_same_extents(const SampleLayout& layout, const std::string& first_file,
                          const std::vector<OpenArray>& arrays) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const StoredExtents& given = arrays[i].extents();
    const StoredExtents& first = layout.extents[i];
    const bool fits_first =
        layout.is_constant(i) || (given.levels == arrays.front().extents().levels &&
                                  given.trajectories == arrays.front().extents().trajectories);
    if (!fits_first) {
      fail_input(errors::bad_dataset, "{}: array {} has {} x {} levels, {} has {} x {}, after slicing",
                 arrays[i].array().file_path(), layout.arrays[i], given.trajectories, given.levels,
                 layout.arrays.front(), arrays.front().extents().trajectories,
                 arrays.front().extents().levels);
    }
    const hdf5::NumberType type = arrays[i].conversion().type;
    if (given.grid == first.grid && given.channels == first.channels && type == layout.types[i]) continue;
    const auto text = [](hdf5::NumberType of_type, const StoredExtents& of) {
      return fmt::format("{} on a grid of [{}] with {} channel{}", name_of(of_type), fmt::join(of.grid, ", "),
                         of.channels, of.channels == 1 ? "" : "s");
    };
    fail_input(
        errors::data_mismatch,
        "{} and {} differ: array {} is {} in the first and {} in the other, after slicing; files of one "
        "list have the same type, grid and channels",
        first_file, arrays[i].array().file_path(), layout.arrays[i], text(layout.types[i], first),
        text(type, given));
  }
}

}  // namespace mylos
