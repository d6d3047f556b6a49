#include "mylos/data/run/windows_of_steps.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/samples.hpp"

namespace mylos {
namespace {

/// Returns the stored levels from one level of a slice to the next.
std::int64_t stored_levels_per_level(const ArrayOptions& options) {
  for (const AxisSlice& slice : options.slice) {
    if (slice.axis == time_axis) return slice.step;
  }
  return 1;
}

/// Appends the scaling of a column.
void append(ColumnScaling& to, const ColumnScaling& from, std::int64_t column) {
  to.shift.push_back(from.shift[static_cast<std::size_t>(column)]);
  to.scale.push_back(from.scale[static_cast<std::size_t>(column)]);
}

}  // namespace

Split windows_of_all_steps(const ArrayStore& several, const ArrayStore& single, Split train) {
  Split all{0, several.samples()};
  if (train.count < single.samples()) {
    const WindowLocation held_out = single.location_of(train.count);
    const RolloutLayout& layout = several.rollout();
    const std::int64_t further =
        (layout.steps - 1) * layout.ahead * stored_levels_per_level(several.options());
    const auto is_training = [&](std::int64_t window) {
      const WindowLocation at = several.location_of(window);
      if (at.file != held_out.file) return at.file < held_out.file;
      if (at.sample != held_out.sample) return at.sample < held_out.sample;
      return at.newest + further < held_out.newest;
    };
    std::int64_t first = 0;  // windows are in the order of their locations
    for (std::int64_t end = all.count; first < end;) {
      const std::int64_t middle = first + (end - first) / 2;
      if (is_training(middle)) {
        first = middle + 1;
      } else {
        end = middle;
      }
    }
    all.count = first;
  }
  if (all.count == 0) {
    fail_input(errors::too_little_data,
               "{}: no window of {} steps lies among the {} samples for training; lower rollout.steps or "
               "data.validation",
               several.path(), several.rollout().steps, train.count);
  }
  return all;
}

Normalizer for_all_steps(const Normalizer& of_one, const RolloutLayout& layout) {
  Normalizer of_all;
  if (!of_one.inputs.identity()) {
    const std::int64_t channels = layout.network_inputs();
    for (std::int64_t point = 0; point < layout.points; ++point) {
      for (std::int64_t i = 0; i < channels; ++i) append(of_all.inputs, of_one.inputs, point * channels + i);
      for (std::int64_t step = 1; step < layout.steps; ++step) {
        for (const std::int64_t channel : layout.forcing)
          append(of_all.inputs, of_one.inputs, point * channels + layout.newest() + channel);
      }
    }
  }
  if (!of_one.targets.identity()) {
    const std::int64_t channels = layout.target_channels();
    for (std::int64_t point = 0; point < layout.points; ++point) {
      for (std::int64_t step = 0; step < layout.steps; ++step) {
        for (std::int64_t i = 0; i < channels; ++i)
          append(of_all.targets, of_one.targets, point * channels + i);
      }
    }
  }
  return of_all;
}

}  // namespace mylos
