#include "mylos/inference/uncertainty/judged_rows.hpp"

#include <cmath>

namespace mylos {

TargetShape target_shape(const Chain& chain) {
  TargetShape shape;
  const std::int64_t outputs = chain.outputs();
  if (!chain.grids.empty() && chain.grids.back().points() > 1) shape.points = chain.grids.back().points();
  shape.channels = outputs / shape.points;
  return shape;
}

JudgedRows judge_rows(const TargetShape& shape, const ColumnScaling& scaling, std::span<const float> outputs,
                      std::span<const float> targets) {
  JudgedRows rows{.shape = shape, .errors = {}, .deviations = {}};
  const auto row = static_cast<std::size_t>(shape.row());
  rows.errors.reserve(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const double error = static_cast<double>(outputs[i]) - static_cast<double>(targets[i]);
    rows.errors.push_back(scaling.identity() ? error : error / scaling.scale[i % row]);
  }
  return rows;
}

}  // namespace mylos
