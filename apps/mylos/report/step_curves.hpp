// StepCurves: values over any number of steps, reduced while they arrive to a number of points that a page
// can draw. A point stores the smallest, the mean and the largest of its steps, so that a spike of one step
// stays visible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
  struct Point {
    std::int64_t first = 0;  // the least and the largest step that it stands for
    std::int64_t last = 0;
    std::vector<Values> curves;
  };

  StepCurves(std::size_t curves, std::size_t max_points);

  /// Adds a value for each curve; values that are not finite are skipped. Steps may repeat, in any order.
  void add(std::int64_t step, std::span<const double> values);

  /// At most `max_points` points, sorted by step.
  [[nodiscard]] const std::vector<Point>& points() const { return points_; }
  /// The largest number of steps of a point.
  [[nodiscard]] std::int64_t width() const { return width_; }

 private:
  Point& point_of(std::int64_t step);
  void merge();

  std::size_t curves_;
  std::size_t max_points_;
  std::int64_t width_ = 1;
  std::vector<Point> points_;
};

/// The largest valid step.
inline constexpr std::int64_t max_step = 1'000'000'000'000;

}  // namespace mylos::app
