#include "mylos/inference/uncertainty/evaluated_rows.hpp"

#include <algorithm>
#include <cmath>

namespace mylos {

TargetShape target_shape(const Chain& chain) {
  TargetShape shape{.has_deviations = chain.has_deviations()};
  if (!chain.grids.empty() && chain.grids.back().points() > 1) shape.points = chain.grids.back().points();
  shape.channels = chain.outputs() / shape.points;
  if (const std::optional<OutputField> field = chain.head->field()) shape.weights = field->weights;
  return shape;
}

EvaluatedRows make_evaluated_rows(const TargetShape& shape, const ColumnScaling& scaling,
                                  std::span<const float> outputs, std::span<const float> deviations,
                                  std::span<const float> targets, std::span<const float> quantiles) {
  EvaluatedRows rows{.shape = shape, .errors = {}, .deviations = {}, .quantiles = {}};
  const auto row = static_cast<std::size_t>(shape.row());
  const auto in_units_of_targets = [&](double value, std::size_t i) {
    return scaling.identity() ? value : value / scaling.scale[i % row];
  };
  const auto errors_of = [&](std::span<const float> values) {
    std::vector<double> errors;
    errors.reserve(targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i)
      errors.push_back(
          in_units_of_targets(static_cast<double>(values[i]) - static_cast<double>(targets[i]), i));
    return errors;
  };
  const auto is_missing = [](float target) { return std::isnan(target); };
  if (std::ranges::any_of(targets, is_missing))
    for (const float target : targets) rows.known.push_back(is_missing(target) ? 0 : 1);
  rows.errors = errors_of(outputs);
  for (std::size_t first = 0; first < quantiles.size(); first += targets.size())
    rows.quantiles.push_back(errors_of(quantiles.subspan(first)));
  rows.deviations.reserve(deviations.size());
  for (std::size_t i = 0; i < deviations.size(); ++i)
    rows.deviations.push_back(in_units_of_targets(deviations[i], i));
  return rows;
}

}  // namespace mylos
