#include "measures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mylos::app {

void ClassMeasures::add(std::span<const float> logits, std::span<const std::int32_t> labels) {
  const auto width = static_cast<std::size_t>(classes_);
  rows_ += static_cast<std::int64_t>(labels.size());
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto values = logits.subspan(row * width, width);
    if (std::any_of(values.begin(), values.end(), [](float value) { return std::isnan(value); })) {
      ++rows_with_nan_;
      continue;
    }
    const auto label = static_cast<std::size_t>(labels[row]);
    const float own = values[label];
    const auto before = values.first(label);
    const auto place = static_cast<std::size_t>(
        std::count_if(values.begin(), values.end(), [own](float value) { return value > own; }) +
        std::count(before.begin(), before.end(), own));
    if (place < most_best) ++at_place_[place];
    const auto predicted =
        static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
    ++confusion_[label * width + predicted];
  }
}

double ClassMeasures::accuracy(std::size_t best) const {
  std::int64_t found = 0;
  for (std::size_t place = 0; place < std::min(best, most_best); ++place) found += at_place_[place];
  return static_cast<double>(found) / static_cast<double>(rows_);
}

void TargetMeasures::add(std::span<const float> predictions, std::span<const float> targets) {
  const std::size_t width = sums_.size();
  rows_ += static_cast<std::int64_t>(targets.size() / width);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    Sums& of = sums_[i % width];
    const double target = targets[i];
    const double error = target - static_cast<double>(predictions[i]);
    if (!std::isfinite(error)) {
      of.finite = false;
      continue;
    }
    of.error.add(error * error);
    of.value.add(target);
    of.square.add(target * target);
  }
}

std::vector<double> TargetMeasures::r2() const {
  std::vector<double> result;
  for (const Sums& of : sums_) {
    const double sum = of.value.value();
    const double square = of.square.value();
    const double spread = square - sum * sum / static_cast<double>(rows_);
    const bool is_constant = !(spread > 1e-12 * square);  // what the difference leaves of a constant
    result.push_back(of.finite && !is_constant ? 1 - of.error.value() / spread
                                               : std::numeric_limits<double>::quiet_NaN());
  }
  return result;
}

}  // namespace mylos::app
