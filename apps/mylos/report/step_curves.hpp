// StepCurves: values over steps, of as many steps as come, reduced while they come to a number of points that
// a page can draw. A point keeps the least, the mean and the largest of its steps, so that a spike of one
// step stays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mylos::app {

class StepCurves {
 public:
  /// Of the finite values of one curve in the steps of one point.
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

  /// A value for each curve; those that are not finite are left out. Steps may come again, and in any order.
  void add(std::int64_t step, std::span<const double> values);

  /// At most `max_points`, by rising steps.
  [[nodiscard]] const std::vector<Point>& points() const { return points_; }
  /// Steps that a point may stand for.
  [[nodiscard]] std::int64_t width() const { return width_; }

 private:
  Point& point_of(std::int64_t step);
  void merge();

  std::size_t curves_;
  std::size_t max_points_;
  std::int64_t width_ = 1;
  std::vector<Point> points_;
};

/// The largest step that is counted with: what is beyond it is no step.
inline constexpr std::int64_t max_step = 1'000'000'000'000;

}  // namespace mylos::app
