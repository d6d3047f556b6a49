#include "step_curves.hpp"

#include <algorithm>
#include <cmath>

namespace mylos::app {
namespace {

using Values = StepCurves::Values;

void join(Values& into, const Values& other) {
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

template <class Number>
ordered_json numbers(const StepCurves& curves, std::size_t curve, const Number& number) {
  ordered_json list = ordered_json::array();
  for (const StepCurves::Point& point : curves.points()) {
    const Values& values = point.values[curve];
    list.push_back(values.count == 0 ? ordered_json() : short_number(number(values)));
  }
  return list;
}

}  // namespace

StepCurves::StepCurves(std::size_t curves, std::size_t max_points)
    : curves_(curves), max_points_(std::max<std::size_t>(1, max_points)) {}

void StepCurves::add(std::int64_t step, std::span<const double> values) {
  std::vector<Values>& point = points_.at(step);
  point.resize(curves_);
  for (std::size_t curve = 0; curve < curves_; ++curve)
    if (std::isfinite(values[curve])) join(point[curve], {values[curve], values[curve], values[curve], 1});
  points_.reduce_to(max_points_, [](std::vector<Values>& into, const std::vector<Values>& other) {
    for (std::size_t curve = 0; curve < other.size(); ++curve) join(into[curve], other[curve]);
  });
}

ordered_json json_of(const StepCurves& curves, const std::vector<std::string>& names) {
  ordered_json document = {{"first", ordered_json::array()}};
  const auto& points = curves.points();
  for (const auto& point : points) document["first"].push_back(point.first);
  if (curves.width() > 1)
    for (const auto& point : points) document["last"].push_back(point.last);
  for (std::size_t curve = 0; curve < names.size(); ++curve) {
    const auto any = [&](const auto& condition) {
      return std::any_of(points.begin(), points.end(),
                         [&](const auto& point) { return condition(point.values[curve]); });
    };
    if (!any([](const Values& values) { return values.count > 0; })) continue;
    ordered_json& member = document[names[curve]];
    member["mean"] = numbers(curves, curve, [](const Values& values) { return values.mean(); });
    if (!any([](const Values& values) { return values.least != values.largest; })) continue;
    member["least"] = numbers(curves, curve, [](const Values& values) { return values.least; });
    member["largest"] = numbers(curves, curve, [](const Values& values) { return values.largest; });
  }
  return document;
}

}  // namespace mylos::app
