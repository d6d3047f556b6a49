// StepCurves: values over any number of steps, reduced while they arrive to a number of points that a page
// can draw. A point stores the smallest, the mean and the largest of its steps, so that a spike of one step
// stays visible.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report_json.hpp"
#include "step_intervals.hpp"

namespace mylos::app {

class StepCurves {
 public:
  /// Statistics of the finite values of one curve in the steps of one point.
  struct Values {
    double least = 0;
    double largest = 0;
    double sum = 0;
    std::int64_t count = 0;
    [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
  };
  using Point = StepInterval<std::vector<Values>>;  // with the values of each curve

  StepCurves(std::size_t curves, std::size_t max_points);

  /// Adds a value for each curve; values that are not finite are skipped. Steps may repeat, in any order.
  void add(std::int64_t step, std::span<const double> values);

  /// At most `max_points` points, sorted by step.
  [[nodiscard]] const std::vector<Point>& points() const { return points_.intervals(); }
  /// The largest number of steps of a point.
  [[nodiscard]] std::int64_t width() const { return points_.width(); }

 private:
  std::size_t curves_;
  std::size_t max_points_;
  StepIntervals<std::vector<Values>> points_;
};

/// {"first": [...], "last": [...], NAME: {"mean": [...], "least": [...], "largest": [...]}, ...}: one number
/// per point, null if a point has none. "last" is omitted if points are single steps, "least" and "largest"
/// if they equal the mean, and a curve if it has no values.
[[nodiscard]] ordered_json json_of(const StepCurves& curves, const std::vector<std::string>& names);

}  // namespace mylos::app
