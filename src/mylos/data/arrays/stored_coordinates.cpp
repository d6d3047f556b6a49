#include "mylos/data/arrays/stored_coordinates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/data/arrays/coordinates.hpp"
#include "mylos/data/arrays/encodings/encoder.hpp"

namespace mylos {
namespace {

// Months have 28 to 31 days, and a missing level makes a step twice as long.
constexpr double longest_step = 1.5;
constexpr double shortest_step = 0.5;

/// Returns "hours" of "hours since 1900-01-01"; other units as they are.
std::string unit_of(const AxisCoordinates& time) {
  const std::string units = units_of(time);
  return units.substr(0, units.find(" since "));
}

/// Returns the usual step, the median: months and years differ in length; nothing where the file states no
/// times, or one level has no other.
std::optional<LevelStep> usual_step(const AxisCoordinates& time) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < time.values.size(); ++i) {
    const double step = time.values[i] - time.values[i - 1];
    if (std::isfinite(step)) steps.push_back(step);
  }
  if (steps.empty()) return std::nullopt;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return LevelStep{*middle, unit_of(time)};
}

[[noreturn]] void refuse_step(const AxisCoordinates& time, std::size_t level, const LevelStep& usual,
                              const std::string& path) {
  fail_input(
      errors::data_mismatch,
      "{}: {} is {} at level {} (counted from 0) and {} at the next, while levels are usually {} {} "
      "apart; a level is missing, repeated or out of order. Complete or sort the file, select a part with "
      "data.arrays.slice, or train with data.arrays.gaps: \"break\" leaves out the windows that cross it, "
      "\"ignore\" is for times that mean nothing",
      path, printable(time.scale), time.values[level], level, time.values[level + 1], usual.length,
      printable(usual.unit));
}

/// Returns the parts of the time axis between irregular steps.
std::vector<LevelRun> runs_of(const AxisCoordinates& time, std::int64_t levels, const LevelStep& usual,
                              TimeGaps gaps, const std::string& path) {
  std::vector<LevelRun> runs{{0, levels}};
  for (std::size_t level = 0; level + 1 < time.values.size(); ++level) {
    const double step = time.values[level + 1] - time.values[level];
    if (step > 0 && step >= shortest_step * usual.length && step <= longest_step * usual.length) continue;
    if (gaps == TimeGaps::error || !usual.is_known()) refuse_step(time, level, usual, path);
    const std::int64_t next = static_cast<std::int64_t>(level) + 1;
    runs.back().count = next - runs.back().first;
    runs.push_back({next, levels - next});
  }
  return runs;
}

}  // namespace

std::vector<LevelRun> StoredCoordinates::add(const FileTable& files, const OpenArrayFile& file,
                                             const std::string& path, const ArrayOptions& options) {
  const bool are_compared = options.coordinates == FileCoordinates::same && !options.points_are_samples;
  if (are_compared || encodes_places(options)) {
    const GridAxes own = grid_axes_of(file.file, file.arrays, files.grid());
    axes.resize(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (!axes[i].values.empty()) continue;
      axes[i] = own[i];
      if (!own[i].values.empty() && axes_from.empty()) axes_from = path;
    }
    require_same_axes(axes, axes_from, own, path);
  }
  const std::int64_t levels = file.arrays.front().extents().levels;
  const AxisCoordinates time = time_axis_of(file.file, file.arrays.front());
  const bool encodes_times = std::ranges::any_of(options.encodings, is_of_time);
  times.push_back(level_times(time, options.gaps != TimeGaps::ignore || encodes_times, path));
  if (options.gaps == TimeGaps::ignore) return {{0, levels}};
  const std::optional<LevelStep> usual = usual_step(time);
  const std::vector<LevelRun> runs =
      usual ? runs_of(time, levels, *usual, options.gaps, path) : std::vector<LevelRun>{{0, levels}};
  LevelStep own = usual.value_or(LevelStep{});
  own.calendar = comparable_calendar(times.back());
  require_same_step(level_step, step_from, own, path);
  if (step_from.empty() && own.is_stated()) step_from = path;
  if (level_step.calendar.empty()) level_step.calendar = own.calendar;
  if (!level_step.is_known()) std::tie(level_step.length, level_step.unit) = std::tie(own.length, own.unit);
  return runs;
}

}  // namespace mylos
