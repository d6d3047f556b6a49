#include "mylos/train/evaluation/measures/field_measures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/runs.hpp"

namespace mylos {
namespace {

/// Returns the outputs as a field; a vector is a single point.
OutputField field_of(const Chain& chain) {
  return chain.head->field().value_or(
      OutputField{.grid = {.channels = chain.outputs()}, .axes = 0, .weights = {}});
}

/// Returns the mean over groups of channels of the ratio of two norms, of which the squares are given, over
/// those groups that have targets.
double mean_ratio(const std::vector<double>& error, const std::vector<double>& target,
                  const std::vector<bool>& has_targets) {
  double sum = 0;
  std::int64_t groups = 0;
  for (std::size_t g = 0; g < error.size(); ++g) {
    if (!has_targets[g]) continue;
    sum += std::sqrt(error[g]) / (target[g] > 0 ? std::sqrt(target[g]) : 1.0);
    ++groups;
  }
  return sum / static_cast<double>(groups);
}

}  // namespace

bool has_field_measure(std::span<const Measure> wanted) {
  return std::any_of(wanted.begin(), wanted.end(), is_of_fields);
}

void require_field_measures(std::span<const Measure> wanted, const Chain& chain,
                            const std::string& location) {
  if (!has_measure(wanted, Measure::relative_h1)) return;
  if (!chain.head->field()) {
    fail_input(
        errors::not_measured,
        "{}run.metrics: \"relative_h1\" is measured of outputs on a grid, and the network's are a vector "
        "of {} numbers; \"relative_l2\" needs no grid",
        location, chain.outputs());
  }
  static_cast<void>(FieldNorm(field_of(chain), true));
}

FieldMeasures::FieldMeasures(std::span<const Measure> wanted, const Chain& chain, ColumnScaling targets)
    : scaling_(std::move(targets)),
      norm_((require_field_measures(wanted, chain), field_of(chain)),
            has_measure(wanted, Measure::relative_h1)),
      points_(norm_.points(norm_.constants().data())),
      derivatives_(norm_.derivatives(norm_.constants().data())) {
  const auto columns = static_cast<std::size_t>(norm_.grid().columns());
  error_.resize(columns);
  target_.resize(columns);
  if (norm_.derivative() != Derivative::spectral) return;
  for (int a = 0; a < derivatives_.axes; ++a)
    tables_.push_back(spectral_coefficients(derivatives_.axis[a].extent));
}

void FieldMeasures::Sum::add(double value) {
  if (std::isfinite(value)) {
    sum.add(value);
  } else {
    ++not_finite;
  }
}

double FieldMeasures::Sum::mean(std::int64_t count) const {
  if (not_finite > 0) return std::numeric_limits<double>::quiet_NaN();
  return sum.value() / static_cast<double>(count);
}

double FieldMeasures::derivative_at(const std::vector<double>& field, int axis, std::int64_t point,
                                    std::int64_t channel) const {
  const std::int64_t n = derivatives_.axis[axis].extent;
  const std::int64_t stride = derivatives_.axis[axis].stride;
  const std::int64_t i = point / stride % n;
  const auto at = [&](std::int64_t index) {
    return field[static_cast<std::size_t>((point + (index - i) * stride) * points_.channels + channel)];
  };
  const auto size = static_cast<double>(n);
  if (norm_.derivative() == Derivative::spectral) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j)
      sum += tables_[static_cast<std::size_t>(axis)][static_cast<std::size_t>((i - j + n) % n)] * at(j);
    return sum;
  }
  if (norm_.derivative() == Derivative::one_sided && i == 0)
    return size / 6 * (-11 * at(0) + 18 * at(1) - 9 * at(2) + 2 * at(3));
  if (norm_.derivative() == Derivative::one_sided && i == n - 1)
    return size / 6 * (11 * at(n - 1) - 18 * at(n - 2) + 9 * at(n - 3) - 2 * at(n - 4));
  return size / 2 * (at((i + 1) % n) - at((i + n - 1) % n));
}

void FieldMeasures::square_norms(const std::vector<double>& field, std::vector<double>& l2,
                                 std::vector<double>& h1) const {
  const auto groups = static_cast<std::size_t>(norm_.per_channel() ? points_.channels : 1);
  l2.assign(groups, 0);
  h1.assign(groups, 0);
  for (std::int64_t point = 0; point < points_.points; ++point) {
    for (std::int64_t channel = 0; channel < points_.channels; ++channel) {
      const std::size_t g = norm_.per_channel() ? static_cast<std::size_t>(channel) : 0;
      const std::int64_t number = point * points_.channels + channel;
      const double value = field[static_cast<std::size_t>(number)];
      const auto weight = [&](const FieldWeights& of) -> double {
        return of.point(point) * of.number(number);
      };
      const bool is_missing = std::isnan(target_[static_cast<std::size_t>(number)]);
      if (is_missing) continue;
      if (const double w = weight(points_.weights); w != 0) l2[g] += w * value * value;
      for (int a = 0; a < derivatives_.axes; ++a) {
        if (any_missing_ && std::isnan(derivative_at(target_, a, point, channel))) continue;
        const double slope = derivative_at(field, a, point, channel);
        if (const double w = weight(derivatives_.axis[a].weights); w != 0) h1[g] += w * slope * slope;
      }
    }
  }
  for (std::size_t g = 0; g < groups; ++g) h1[g] += l2[g];
}

std::vector<bool> FieldMeasures::groups_with_targets() {
  const auto channels = static_cast<std::size_t>(points_.channels);
  any_missing_ = std::ranges::any_of(target_, [](double target) { return std::isnan(target); });
  std::vector<bool> found(norm_.per_channel() ? channels : 1, !any_missing_);
  for (std::size_t i = 0; any_missing_ && i < target_.size(); ++i)
    if (!std::isnan(target_[i])) found[norm_.per_channel() ? i % channels : 0] = true;
  return found;
}

void FieldMeasures::add(std::span<const float> predictions, std::span<const float> targets) {
  const std::size_t columns = target_.size();
  std::vector<double> error_l2, error_h1, target_l2, target_h1;
  for (std::size_t first = 0; first < targets.size(); first += columns) {
    for (std::size_t c = 0; c < columns; ++c) {
      const double target = targets[first + c];
      const double error = static_cast<double>(predictions[first + c]) - target;
      error_[c] = scaling_.identity() ? error : error / scaling_.scale[c];
      target_[c] = scaling_.identity() ? target : target / scaling_.scale[c] + scaling_.shift[c];
    }
    const std::vector<bool> has_targets = groups_with_targets();
    if (std::ranges::find(has_targets, true) == has_targets.end()) continue;
    square_norms(error_, error_l2, error_h1);
    square_norms(target_, target_l2, target_h1);
    l2_.add(mean_ratio(error_l2, target_l2, has_targets));
    h1_.add(mean_ratio(error_h1, target_h1, has_targets));
    ++samples_;
  }
}

void FieldMeasures::add_up(RankGroup& ranks) {
  if (ranks.size() == 1) return;
  std::vector<std::int64_t> numbers{samples_};
  for (Sum* of : {&l2_, &h1_}) {
    of->sum.carry();  // makes the sum over up to 2^47 ranks exact
    numbers.insert(numbers.end(), std::begin(of->sum.digits), std::end(of->sum.digits));
    numbers.push_back(of->not_finite);
  }
  ranks.add_up(numbers);
  auto number = numbers.begin();
  samples_ = *number++;
  for (Sum* of : {&l2_, &h1_}) {
    std::copy_n(number, ExactSum::digit_count, of->sum.digits);
    number += ExactSum::digit_count;
    of->not_finite = *number++;
  }
}

std::size_t FieldMeasures::memory_bytes(std::int64_t outputs) {
  return 4 * static_cast<std::size_t>(outputs) * sizeof(double);
}

std::size_t FieldMeasures::constant_bytes(std::span<const Measure> wanted, const Chain& chain) {
  if (!has_field_measure(wanted)) return 0;
  require_field_measures(wanted, chain);
  const FieldNorm norm(field_of(chain), has_measure(wanted, Measure::relative_h1));
  std::size_t bytes = norm.constants().size_bytes();
  if (norm.derivative() != Derivative::spectral) return bytes;
  const FieldDerivatives derivatives = norm.derivatives(norm.constants().data());
  for (int a = 0; a < derivatives.axes; ++a)
    bytes += static_cast<std::size_t>(derivatives.axis[a].extent) * sizeof(double);
  return bytes;
}

}  // namespace mylos
