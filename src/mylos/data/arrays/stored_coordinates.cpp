#include "mylos/data/arrays/stored_coordinates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
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

bool is_regular(double step, double usual) {
  return step > 0 && step >= shortest_step * usual && step <= longest_step * usual;
}

/// Returns "hours" of "hours since 1900-01-01"; other units as they are.
std::string unit_of(const AxisCoordinates& time) {
  const std::string units = units_of(time);
  return units.substr(0, units.find(" since "));
}

/// Of steps that are the same.
constexpr double rounding_of_steps = 0.01;

/// Returns the usual step, the median: months and years differ in length; nothing where the file states no
/// times, or one level has no other. Of times that are rounded, to float for instance, it is the mean.
std::optional<LevelStep> usual_step(const AxisCoordinates& time) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < time.values.size(); ++i) {
    const double step = time.values[i] - time.values[i - 1];
    if (std::isfinite(step)) steps.push_back(step);
  }
  if (steps.empty()) return std::nullopt;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  const double median = *middle;
  std::erase_if(steps, [&](double step) { return !is_regular(step, median); });
  LevelStep usual{.length = median, .unit = unit_of(time), .varies = true};
  if (steps.size() < 2) return usual;
  const auto [shortest, longest] = std::ranges::minmax(steps);
  usual.varies = longest - shortest > rounding_of_steps * median;
  if (usual.varies)
    usual.length = std::reduce(steps.begin(), steps.end()) / static_cast<double>(steps.size());
  return usual;
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
    if (is_regular(step, usual.length)) continue;
    if (gaps == TimeGaps::error || !usual.is_known()) refuse_step(time, level, usual, path);
    const std::int64_t next = static_cast<std::int64_t>(level) + 1;
    runs.back().count = next - runs.back().first;
    runs.push_back({next, levels - next});
  }
  return runs;
}

/// Throws unless all arrays have the same times, if they state them in more than one way.
void require_one_time(const std::vector<TimeAxis>& axes, const std::string& path) {
  for (std::size_t i = 1; i < axes.size(); ++i) {
    const std::string source = fmt::format("array {}", printable(axes[0].array));
    const std::string where = fmt::format("{}: array {}", path, printable(axes[i].array));
    const auto [first, other] = std::tie(axes[0].coordinates, axes[i].coordinates);
    const LevelTimes times = level_times(first, true, path);
    const LevelTimes other_times = level_times(other, true, path);
    const auto step_of = [](const AxisCoordinates& axis, const LevelTimes& of) {
      LevelStep step = usual_step(axis).value_or(LevelStep{});
      step.calendar = comparable_calendar(of);
      return step;
    };
    require_same_step(step_of(first, times), source, step_of(other, other_times), where);
    require_same_instants(times, source, other_times, where);
  }
}

}  // namespace

std::vector<LevelRun> StoredCoordinates::add(const FileTable& files, const OpenArrayFile& file,
                                             const std::string& path, const ArrayOptions& options) {
  const bool are_compared = options.coordinates == FileCoordinates::same && !options.points_are_samples;
  if (are_compared || encodes_places(options)) {
    const GridAxes own = grid_axes_of(file.file, file.arrays, files.grid().axes);
    require_same_axes(axes, axes_from, own, path);
    complete_axes(axes, own);
    const bool states_any =
        std::ranges::any_of(own, [](const GridAxis& axis) { return !axis.values.empty(); });
    if (states_any && axes_from.empty()) axes_from = path;
  }
  const std::int64_t levels = file.arrays.front().extents().levels;
  const std::vector<TimeAxis> time_axes = time_axes_of(file.file, file.arrays);
  const AxisCoordinates time = time_axes.empty() ? AxisCoordinates{} : time_axes.front().coordinates;
  const bool encodes_times = std::ranges::any_of(options.encodings, is_of_time);
  times.push_back(level_times(time, options.gaps != TimeGaps::ignore || encodes_times, path));
  if (options.gaps == TimeGaps::ignore) return {{0, levels}};
  require_one_time(time_axes, path);
  const std::optional<LevelStep> usual = usual_step(time);
  const std::vector<LevelRun> runs =
      usual ? runs_of(time, levels, *usual, options.gaps, path) : std::vector<LevelRun>{{0, levels}};
  LevelStep own = usual.value_or(LevelStep{});
  own.calendar = comparable_calendar(times.back());
  require_same_step(level_step, step_from, own, path);
  if (step_from.empty() && own.is_stated()) step_from = path;
  level_step.calendar =
      level_step.calendar.empty() ? own.calendar : common_calendar(level_step.calendar, own.calendar);
  if (!level_step.is_known()) std::tie(level_step.length, level_step.unit) = std::tie(own.length, own.unit);
  return runs;
}

}  // namespace mylos
