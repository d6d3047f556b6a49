#include "mylos/data/arrays/stored_coordinates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/data/arrays/coordinates.hpp"

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

/// Returns the usual step, the median: months and years differ in length; an unknown one where the file
/// states no times, or one level has no other.
LevelStep level_step_of(const AxisCoordinates& time, const std::string& path) {
  const std::vector<double>& times = time.values;
  if (times.size() < 2) return {};
  std::vector<double> steps(times.size() - 1);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = times[i + 1] - times[i];
  std::vector<double> sorted = steps;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const LevelStep usual{*middle, unit_of(time)};
  const auto irregular = std::find_if(steps.begin(), steps.end(), [&](double step) {
    return !(step > 0 && step >= shortest_step * usual.length && step <= longest_step * usual.length);
  });
  if (irregular == steps.end()) return usual;
  const auto level = static_cast<std::size_t>(irregular - steps.begin());
  fail_input(
      errors::data_mismatch,
      "{}: {} is {} at level {} (counted from 0) and {} at the next, while levels are usually {} {} "
      "apart; a level is missing, repeated or out of order. Complete or sort the file, select a part with "
      "data.arrays.slice, or set data.arrays.gaps = \"ignore\" if times mean nothing here",
      path, printable(time.scale), times[level], level, times[level + 1], usual.length,
      printable(usual.unit));
}

}  // namespace

void StoredCoordinates::add(const FileTable& files, const OpenArrayFile& file, const std::string& path,
                            const ArrayOptions& options) {
  const std::string& first = files.paths().front();
  if (options.coordinates == FileCoordinates::same && !options.points_are_samples) {
    GridAxes own = grid_axes_of(file.file, file.arrays, files.grid());
    if (axes.empty()) axes = own;
    require_same_axes(axes, first, own, path);
  }
  if (options.gaps == TimeGaps::ignore) return;
  const LevelStep own = level_step_of(time_axis_of(file.file, file.arrays.front()), path);
  if (!level_step.is_known()) level_step = own;
  require_same_step(level_step, first, own, path);
}

}  // namespace mylos
