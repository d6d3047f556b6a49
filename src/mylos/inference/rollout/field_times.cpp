#include "mylos/inference/rollout/field_times.hpp"

namespace mylos {
namespace {

/// Returns how far apart the levels of a file are in the units of its axis of time, which is not of CF times:
/// as usual there, or in the training; 0 if it is not known.
double distance_of_levels(const AxisCoordinates& axis, const LevelStep& usual, const LevelStep& trained) {
  if (usual.is_known()) return usual.length;
  if (axis.values.size() > 1) return axis.values.back() - axis.values[axis.values.size() - 2];
  const std::string unit = units_of(axis);
  if (unit == trained.unit) return trained.length;
  const double own_ms = milliseconds_of_unit(unit);
  return own_ms == 0 ? 0 : trained.length * milliseconds_of_unit(trained.unit) / own_ms;
}

}  // namespace

double coordinate_at(const std::vector<double>& values, std::int64_t index, double distance) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (index < count) return values[static_cast<std::size_t>(index)];
  return values.back() + static_cast<double>(index - count + 1) * distance;
}

std::optional<std::vector<double>> times_of(const AxisCoordinates& axis, const ArrayStore& of,
                                            std::span<const std::int64_t> levels, const LevelStep& step) {
  const LevelTimes times = level_times(axis, false, of.path());
  const std::string units = units_of(axis);
  const double unit_ms = milliseconds_of_unit(units.substr(0, units.find(" since ")));
  const double step_ms = step.length * milliseconds_of_unit(step.unit);
  const double distance = times.are_known() ? 0 : distance_of_levels(axis, of.level_step(), step);
  const auto count = std::ssize(axis.values);
  std::vector<double> found;
  for (const std::int64_t level : levels) {
    if (level < count || distance != 0) {
      found.push_back(coordinate_at(axis.values, level, distance));
    } else if (times.increase() && (count > 1 || step_ms > 0)) {
      const Instant later = times.at(level, step_ms) - times.instants.back();
      found.push_back(axis.values.back() + static_cast<double>(later) / unit_ms);
    } else {
      return std::nullopt;
    }
  }
  return found;
}

}  // namespace mylos
