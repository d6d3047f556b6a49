#include "mylos/inference/uncertainty/uncertainty_measures.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace mylos {
namespace {

/// Returns the probability of the central interval of a normal distribution that ends at `z` deviations.
double probability_within(double z) {
  return std::erf(z / std::numbers::sqrt2);
}

/// Returns the continuous ranked probability score of a normal distribution of deviation 1.
double standard_crps(double z) {
  const double density = std::exp(-z * z / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return z * probability_within(z) + 2 * density - std::numbers::inv_sqrtpi;
}

}  // namespace

UncertaintyMeasures::UncertaintyMeasures(bool has_deviations, std::optional<ConformalCalibration> calibration,
                                         std::span<const double> quantiles)
    : has_deviations_(has_deviations),
      calibration_(std::move(calibration)),
      quantiles_(quantiles.begin(), quantiles.end()),
      below_(quantiles.size()) {
  if (calibration_) held_.resize(calibration_->quantiles.size());
  rated_ = held_;
}

void UncertaintyMeasures::add(const EvaluatedRows& rows) {
  const auto row = static_cast<std::size_t>(rows.shape.row());
  for (std::size_t first = 0; first < rows.errors.size(); first += row) {
    ++samples_;
    const auto finite = [&](std::size_t i) {
      return std::isfinite(rows.errors[i]) && (!has_deviations_ || std::isfinite(rows.deviations[i])) &&
             std::all_of(rows.quantiles.begin(), rows.quantiles.end(),
                         [i](const std::vector<double>& errors) { return std::isfinite(errors[i]); });
    };
    std::int64_t wrong = 0;
    std::int64_t counted = 0;
    for (std::size_t i = first; i < first + row; ++i) {
      if (!rows.counts(i)) continue;
      ++counted;
      wrong += finite(i) ? 0 : 1;
    }
    not_finite_ += wrong;
    if (wrong > 0) continue;  // there is no result then
    values_ += counted;
    for (std::size_t i = first; has_deviations_ && i < first + row; ++i)
      if (rows.counts(i)) add_deviation(rows.errors[i], rows.deviations[i]);
    for (std::size_t i = first; !quantiles_.empty() && i < first + row; ++i)
      if (rows.counts(i)) add_quantiles(rows, i);
    if (calibration_) add_intervals(rows, first);
  }
}

void UncertaintyMeasures::add_quantiles(const EvaluatedRows& rows, std::size_t value) {
  bool ascends = true;
  for (std::size_t level = 0; level < below_.size(); ++level) {
    const double error = rows.quantiles[level][value];
    below_[level] += error >= 0 ? 1 : 0;
    if (level > 0 && error < rows.quantiles[level - 1][value]) ascends = false;
  }
  crossed_ += ascends ? 0 : 1;
}

void UncertaintyMeasures::add_deviation(double error, double deviation) {
  const double z = error == 0 ? 0 : std::abs(error) / deviation;
  const double probability = probability_within(z);
  // Levels as NumPy's linspace(0, 1, 100) computes them.
  const auto level = [](std::size_t i) {
    return i + 1 == levels ? 1.0 : static_cast<double>(i) * (1.0 / static_cast<double>(levels - 1));
  };
  auto first = static_cast<std::size_t>(std::floor(probability * static_cast<double>(levels - 1)));
  if (first > 0) --first;
  while (level(first) < probability) ++first;
  ++first_within_[first];
  for (std::size_t i = 0; i < chosen_levels.size(); ++i)
    if (probability <= chosen_levels[i]) ++within_chosen_[i];
  square_.add(deviation * deviation);
  // The limit of a deviation of 0 is the error itself, as far as doubles go.
  crps_.add(std::isfinite(z) ? deviation * standard_crps(z) : std::abs(error));
}

void UncertaintyMeasures::add_intervals(const EvaluatedRows& rows, std::size_t first) {
  const auto channels = static_cast<std::size_t>(rows.shape.channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    bool holds = true;
    bool has_any = rows.known.empty();
    for (std::size_t i = channel; i < static_cast<std::size_t>(rows.shape.row()); i += channels) {
      if (!rows.counts(first + i)) continue;
      has_any = true;
      const double deviation = has_deviations_ ? rows.deviations[first + i] : 0;
      const double half = calibration_->half_width(channel, deviation);
      if (std::abs(rows.errors[first + i]) > half) holds = false;
      width_.add(2 * half);
    }
    held_[channel] += holds && has_any ? 1 : 0;
    rated_[channel] += has_any ? 1 : 0;
  }
}

void UncertaintyMeasures::add_up(RankGroup& ranks) {
  if (ranks.size() == 1) return;
  std::vector<std::int64_t> numbers{samples_, values_, not_finite_, crossed_};
  const auto append = [&](const auto& values) {
    numbers.insert(numbers.end(), std::begin(values), std::end(values));
  };
  append(first_within_);
  append(within_chosen_);
  append(below_);
  append(held_);
  append(rated_);
  for (ExactSum* const sum : {&square_, &crps_, &width_}) {
    sum->carry();  // makes the sum over up to 2^47 ranks exact
    append(sum->digits);
  }
  ranks.add_up(numbers);
  auto number = numbers.begin();
  for (std::int64_t* const count : {&samples_, &values_, &not_finite_, &crossed_}) *count = *number++;
  const auto take = [&](auto& values) {
    for (std::int64_t& value : values) value = *number++;
  };
  take(first_within_);
  take(within_chosen_);
  take(below_);
  take(held_);
  take(rated_);
  for (ExactSum* const sum : {&square_, &crps_, &width_}) take(sum->digits);
}

UncertaintyResult::Deviations UncertaintyMeasures::deviations_result() const {
  UncertaintyResult::Deviations result;
  const auto count = static_cast<double>(values_);
  std::int64_t within = 0;
  std::vector<double> differences;
  double squares = 0;
  for (std::size_t i = 0; i < levels; ++i) {
    within += first_within_[i];
    const double nominal = static_cast<double>(i) / static_cast<double>(levels - 1);
    result.curve.push_back({nominal, static_cast<double>(within) / count});
    differences.push_back(result.curve.back().observed - nominal);
    result.calibration_error += std::abs(differences.back()) / static_cast<double>(levels);
    squares += differences.back() * differences.back();
  }
  result.rms_calibration_error = std::sqrt(squares / static_cast<double>(levels));
  for (std::size_t i = 1; i < levels; ++i) {
    const double before = differences[i - 1];
    const double after = differences[i];
    const double spacing = result.curve[i].nominal - result.curve[i - 1].nominal;
    const double sizes = std::abs(before) + std::abs(after);
    // Where the curve crosses the diagonal between two levels there are two triangles instead of a trapezoid.
    const double mean_height =
        before * after < 0 ? (before * before + after * after) / (2 * sizes) : sizes / 2;
    result.miscalibration_area += spacing * mean_height;
  }
  for (std::size_t i = 0; i < chosen_levels.size(); ++i)
    result.chosen.push_back({chosen_levels[i], static_cast<double>(within_chosen_[i]) / count});
  result.sharpness = std::sqrt(square_.value() / count);
  result.crps = crps_.value() / count;
  return result;
}

UncertaintyResult::Quantiles UncertaintyMeasures::quantiles_result() const {
  UncertaintyResult::Quantiles result;
  const auto count = static_cast<double>(values_);
  for (std::size_t level = 0; level < below_.size(); ++level)
    result.levels.push_back({quantiles_[level], static_cast<double>(below_[level]) / count});
  result.crossed = static_cast<double>(crossed_) / count;
  return result;
}

UncertaintyResult UncertaintyMeasures::result() const {
  UncertaintyResult result{.samples = samples_, .not_finite = not_finite_};
  if (not_finite_ > 0 || samples_ == 0) return result;
  if (has_deviations_) result.deviations = deviations_result();
  if (!quantiles_.empty()) result.quantiles = quantiles_result();
  if (!calibration_) return result;
  UncertaintyResult::Intervals intervals;
  std::int64_t held = 0;
  std::int64_t rated = 0;
  for (std::size_t channel = 0; channel < held_.size(); ++channel) {
    held += held_[channel];
    rated += rated_[channel];
    intervals.of_channels.push_back(static_cast<double>(held_[channel]) /
                                    static_cast<double>(rated_[channel]));
  }
  const auto all = static_cast<double>(rated);
  intervals.coverage = {calibration_->coverage, static_cast<double>(held) / all};
  intervals.mean_width = width_.value() / static_cast<double>(values_);
  result.intervals = intervals;
  return result;
}

}  // namespace mylos
