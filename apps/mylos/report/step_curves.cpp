#include "step_curves.hpp"

#include <algorithm>
#include <cmath>

namespace mylos::app {
namespace {

void join(StepCurves::Values& into, const StepCurves::Values& other) {
  if (other.count == 0) return;
  if (into.count == 0) {
    into = other;
    return;
  }
  into.least = std::min(into.least, other.least);
  into.largest = std::max(into.largest, other.largest);
  into.sum += other.sum;
  into.count += other.count;
}

}  // namespace

StepCurves::StepCurves(std::size_t curves, std::size_t max_points)
    : curves_(curves), max_points_(std::max<std::size_t>(1, max_points)) {}

StepCurves::Point& StepCurves::point_of(std::int64_t step) {
  const std::int64_t key = step / width_;
  const auto keys_below = [this](const Point& point, std::int64_t sought) {
    return point.first / width_ < sought;
  };
  const bool is_last = !points_.empty() && points_.back().first / width_ == key;  // as steps come as a rule
  auto found =
      is_last ? points_.end() - 1 : std::lower_bound(points_.begin(), points_.end(), key, keys_below);
  if (found == points_.end() || found->first / width_ != key)
    found = points_.insert(found, Point{step, step, std::vector<Values>(curves_)});
  return *found;
}

void StepCurves::add(std::int64_t step, std::span<const double> values) {
  Point& point = point_of(step);
  point.first = std::min(point.first, step);
  point.last = std::max(point.last, step);
  for (std::size_t curve = 0; curve < curves_; ++curve)
    if (std::isfinite(values[curve]))
      join(point.curves[curve], {values[curve], values[curve], values[curve], 1});
  while (points_.size() > max_points_) merge();
}

/// Merges neighbours that are in one interval of twice the width.
void StepCurves::merge() {
  width_ *= 2;
  std::size_t kept = 0;
  for (std::size_t i = 1; i < points_.size(); ++i) {
    if (points_[i].first / width_ != points_[kept].first / width_) {
      ++kept;
      if (kept != i) points_[kept] = std::move(points_[i]);
      continue;
    }
    points_[kept].last = std::max(points_[kept].last, points_[i].last);
    for (std::size_t curve = 0; curve < curves_; ++curve)
      join(points_[kept].curves[curve], points_[i].curves[curve]);
  }
  points_.resize(kept + 1);
}

}  // namespace mylos::app
