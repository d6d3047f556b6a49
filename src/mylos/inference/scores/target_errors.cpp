#include "mylos/inference/scores/target_errors.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace mylos {

void TargetErrors::add(const EvaluatedRows& rows) {
  const auto row = static_cast<std::size_t>(rows.shape.row());
  const auto channels = static_cast<std::size_t>(rows.shape.channels);
  const PointWeights* weights = rows.shape.weights.get();
  for (std::size_t i = 0; i < rows.errors.size(); ++i) {
    const std::size_t place = i % row;
    const double weight =
        weights == nullptr ? 1.0 : static_cast<double>(weights->of(place, rows.shape.channels));
    if (weight == 0 || !rows.counts(i)) continue;
    Sums& sums = sums_[place % channels];
    const double error = rows.errors[i];
    if (!std::isfinite(error * error)) {
      ++sums.not_finite;
      continue;
    }
    sums.weight.add(weight);
    sums.square.add(weight * error * error);
    sums.absolute.add(weight * std::abs(error));
    sums.error.add(weight * error);
  }
}

void TargetErrors::add_up(RankGroup& ranks) {
  if (ranks.size() == 1) return;
  std::vector<std::int64_t> numbers;
  for (Sums& of : sums_) {
    for (ExactSum* sum : {&of.weight, &of.square, &of.absolute, &of.error}) {
      sum->carry();  // makes the sum over up to 2^47 ranks exact
      numbers.insert(numbers.end(), std::begin(sum->digits), std::end(sum->digits));
    }
    numbers.push_back(of.not_finite);
  }
  ranks.add_up(numbers);
  auto number = numbers.begin();
  for (Sums& of : sums_) {
    for (ExactSum* sum : {&of.weight, &of.square, &of.absolute, &of.error}) {
      std::copy_n(number, ExactSum::digit_count, sum->digits);
      number += ExactSum::digit_count;
    }
    of.not_finite = *number++;
  }
}

std::vector<TargetError> TargetErrors::result() const {
  std::vector<TargetError> errors;
  for (const Sums& of : sums_) {
    const double weight = of.not_finite == 0 ? of.weight.value() : std::numeric_limits<double>::quiet_NaN();
    errors.push_back(
        {std::sqrt(of.square.value() / weight), of.absolute.value() / weight, of.error.value() / weight});
  }
  return errors;
}

}  // namespace mylos
