#include "mylos/data/normalizer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mylos/data/dataset.hpp"

namespace mylos {

ColumnScaling scaling_for(Normalize method, const ColumnStatistics& statistics) {
  if (method == Normalize::none) return {};
  const std::size_t columns = statistics.mean.size();
  ColumnScaling scaling{std::vector<float>(columns), std::vector<float>(columns)};
  for (std::size_t i = 0; i < columns; ++i) {
    const double low = statistics.minimum[i];
    const double high = statistics.maximum[i];
    const double shift = method == Normalize::standard ? statistics.mean[i] : low;
    const double width = method == Normalize::standard ? statistics.deviation[i] : high - low;
    // A spread that float cannot resolve beside the values is rounding noise: the column is constant.
    const double noise = std::numeric_limits<float>::epsilon() * std::max(std::abs(low), std::abs(high));
    scaling.shift[i] = static_cast<float>(shift);
    scaling.scale[i] = width > noise ? static_cast<float>(1 / width) : 1.0f;
  }
  return scaling;
}

void Normalizer::undo_targets(std::span<float> predictions) const {
  const std::size_t columns = targets.shift.size();
  if (columns == 0) return;
  for (std::size_t row = 0; row + columns <= predictions.size(); row += columns) {
    for (std::size_t i = 0; i < columns; ++i) {
      predictions[row + i] = predictions[row + i] / targets.scale[i] + targets.shift[i];
    }
  }
}

Normalizer normalizer_for(Normalize method, const Dataset& train) {
  Normalizer normalizer;
  if (method == Normalize::none) return normalizer;
  normalizer.inputs = scaling_for(method, train.input_statistics());
  if (train.task() == Task::regression) normalizer.targets = scaling_for(method, train.target_statistics());
  return normalizer;
}

}  // namespace mylos
