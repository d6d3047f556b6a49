#include "mylos/train/evaluation/measures/crps.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

namespace mylos {

double gaussian_crps(double mean, double deviation, double target) {
  const double error = target - mean;
  if (deviation == 0) return std::abs(error);
  const double z = error / deviation;
  const double density = std::exp(-0.5 * z * z) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return deviation * (z * std::erf(z / std::numbers::sqrt2) + 2 * density - std::numbers::inv_sqrtpi);
}

CrpsMeasure::CrpsMeasure(const Chain& chain, ColumnScaling targets)
    : scaling_(std::move(targets)), outputs_(chain.outputs()) {
  const std::optional<OutputField> field = chain.head->field();
  if (!field) return;
  channels_ = field->grid.channels;
  weights_ = field->weights;
}

void CrpsMeasure::add(std::span<const float> means, std::span<const float> deviations,
                      std::span<const float> targets) {
  const auto width = static_cast<std::size_t>(outputs_);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::size_t column = i % width;
    const double scale = scaling_.identity() ? 1.0 : scaling_.scale[column];
    const double weight = weights_ ? static_cast<double>(weights_->of(column, channels_)) : 1.0;
    ++scores_;
    if (std::isnan(targets[i])) {
      missing_.add(weight);
      continue;
    }
    if (weight == 0) continue;
    const double score = gaussian_crps(means[i], deviations[i], targets[i]) / scale * weight;
    if (std::isfinite(score)) {
      sum_.add(score);
    } else {
      ++not_finite_;
    }
  }
}

void CrpsMeasure::add_up(RankGroup& ranks) {
  if (ranks.size() == 1) return;
  std::vector<std::int64_t> numbers{scores_, not_finite_};
  for (ExactSum* const sum : {&sum_, &missing_}) {
    sum->carry();  // makes the sum over up to 2^47 ranks exact
    numbers.insert(numbers.end(), std::begin(sum->digits), std::end(sum->digits));
  }
  ranks.add_up(numbers);
  scores_ = numbers[0];
  not_finite_ = numbers[1];
  std::copy_n(numbers.begin() + 2, ExactSum::digit_count, sum_.digits);
  std::copy_n(numbers.begin() + 2 + ExactSum::digit_count, ExactSum::digit_count, missing_.digits);
}

double CrpsMeasure::value() const {
  if (not_finite_ > 0) return std::numeric_limits<double>::quiet_NaN();
  return sum_.value() / (static_cast<double>(scores_) - missing_.value());  // weights have the mean 1
}

}  // namespace mylos
