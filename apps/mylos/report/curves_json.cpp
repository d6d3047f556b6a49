#include "curves_json.hpp"

#include <algorithm>

namespace mylos::app {
namespace {

using Values = StepCurves::Values;

template <class Number>
ordered_json numbers(const StepCurves& curves, std::size_t curve, const Number& number) {
  ordered_json list = ordered_json::array();
  for (const StepCurves::Point& point : curves.points()) {
    const Values& values = point.curves[curve];
    list.push_back(values.count == 0 ? ordered_json() : short_number(number(values)));
  }
  return list;
}

}  // namespace

ordered_json json_of(const StepCurves& curves, const std::vector<std::string>& names) {
  ordered_json document = {{"first", ordered_json::array()}};
  const auto& points = curves.points();
  for (const auto& point : points) document["first"].push_back(point.first);
  if (curves.width() > 1)
    for (const auto& point : points) document["last"].push_back(point.last);
  for (std::size_t curve = 0; curve < names.size(); ++curve) {
    const auto any = [&](const auto& condition) {
      return std::any_of(points.begin(), points.end(),
                         [&](const auto& point) { return condition(point.curves[curve]); });
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
