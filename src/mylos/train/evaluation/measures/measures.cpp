#include "mylos/train/evaluation/measures/measures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/train/evaluation/measures/crps.hpp"
#include "mylos/train/evaluation/measures/field_measures.hpp"

namespace mylos {
namespace {

// Limit: their sums take 4 GiB.
constexpr std::int64_t max_measured_targets = std::int64_t{1} << 22;
constexpr double undefined_r2 = std::numeric_limits<double>::quiet_NaN();

bool is_classification(std::span<const Measure> wanted) {
  return has_measure(wanted, Measure::top5) || has_measure(wanted, Measure::confusion);
}

}  // namespace

void ClassMeasures::add(std::span<const float> logits, std::span<const std::int32_t> labels) {
  const auto width = static_cast<std::size_t>(classes_);
  counts_[0] += static_cast<std::int64_t>(labels.size());
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto values = logits.subspan(row * width, width);
    if (std::any_of(values.begin(), values.end(), [](float value) { return std::isnan(value); })) {
      ++counts_[1];
      continue;
    }
    const auto label = static_cast<std::size_t>(labels[row]);
    const float own = values[label];
    const auto before = values.first(label);
    const auto position = static_cast<std::size_t>(
        std::count_if(values.begin(), values.end(), [own](float value) { return value > own; }) +
        std::count(before.begin(), before.end(), own));
    if (position < max_best) ++counts_[first_of_positions + position];
    const auto predicted =
        static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
    if (has_matrix()) ++counts_[first_of_confusion + label * width + predicted];
  }
}

void ClassMeasures::add_up(RankGroup& ranks) {
  ranks.add_up(counts_);
}

double ClassMeasures::accuracy(std::size_t best) const {
  std::int64_t found = 0;
  for (std::size_t position = 0; position < std::min(best, max_best); ++position)
    found += at_position()[position];
  return static_cast<double>(found) / static_cast<double>(rows());
}

void TargetMeasures::add(std::span<const float> predictions, std::span<const float> targets) {
  const auto channels = box_ ? sums_.size() / static_cast<std::size_t>(box_->grid_points()) : 1;
  const std::size_t width = box_ ? static_cast<std::size_t>(box_->points()) * channels : sums_.size();
  const auto place = [&](std::size_t column) {
    if (!box_) return column;
    const std::int64_t point = box_->point_of_grid(static_cast<std::int64_t>(column / channels));
    return static_cast<std::size_t>(point) * channels + column % channels;
  };
  if (!box_ || box_->first == std::array<std::int64_t, 3>{})
    rows_ += static_cast<std::int64_t>(targets.size() / width);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    Sums& of = sums_[place(i % width)];
    const double target = targets[i];
    if (std::isnan(target)) {
      ++of.missing;
      continue;
    }
    const double error = target - static_cast<double>(predictions[i]);
    if (std::isfinite(error)) {
      of.error.add(error * error);
    } else {
      ++of.not_finite;
    }
    if (!std::isfinite(target)) continue;
    of.value.add(target);  // independent of predictions: whether a target varies is a property of the data
    of.square.add(target * target);
  }
}

void TargetMeasures::add_up(RankGroup& ranks) {
  if (ranks.size() == 1) return;
  ranks.add_up({&rows_, 1});
  constexpr std::size_t numbers_of_target = bytes_of_target / sizeof(std::int64_t);
  constexpr std::size_t targets_at_a_time = 1024;
  std::vector<std::int64_t> numbers;
  for (std::size_t first = 0; first < sums_.size(); first += targets_at_a_time) {
    const auto part = std::span(sums_).subspan(first, std::min(targets_at_a_time, sums_.size() - first));
    numbers.clear();
    for (Sums& of : part) {
      for (ExactSum* sum : {&of.error, &of.value, &of.square}) {
        sum->carry();  // makes the sum over up to 2^47 ranks exact
        numbers.insert(numbers.end(), std::begin(sum->digits), std::end(sum->digits));
      }
      numbers.push_back(of.not_finite);
      numbers.push_back(of.missing);
    }
    ranks.add_up(numbers);
    for (std::size_t i = 0; i < part.size(); ++i) {
      auto number = numbers.begin() + static_cast<std::ptrdiff_t>(i * numbers_of_target);
      for (ExactSum* sum : {&part[i].error, &part[i].value, &part[i].square}) {
        std::copy_n(number, ExactSum::digit_count, sum->digits);
        number += ExactSum::digit_count;
      }
      part[i].not_finite = *number++;
      part[i].missing = *number;
    }
  }
}

double TargetMeasures::spread(const Sums& of) const {
  const double sum = of.value.value();
  const std::int64_t rows = std::max<std::int64_t>(1, rows_ - of.missing);
  return of.square.value() - sum * sum / static_cast<double>(rows);
}

bool TargetMeasures::is_constant(std::int64_t target) const {
  const Sums& of = sums_[static_cast<std::size_t>(target)];
  return are_constant(spread(of), of.square.value());
}

std::int64_t TargetMeasures::constant_targets() const {
  std::int64_t count = 0;
  for (std::int64_t target = 0; target < targets(); ++target) count += is_constant(target) ? 1 : 0;
  return count;
}

std::int64_t TargetMeasures::not_finite() const {
  std::int64_t count = 0;
  for (const Sums& of : sums_) count += of.not_finite;
  return count;
}

double TargetMeasures::r2(const Sums& of) const {
  const double spread_of_target = spread(of);
  const bool has_one = of.not_finite == 0 && !are_constant(spread_of_target, of.square.value());
  return has_one ? 1 - of.error.value() / spread_of_target : undefined_r2;
}

std::vector<double> TargetMeasures::r2() const {
  std::vector<double> result;
  for (const Sums& of : sums_) result.push_back(r2(of));
  return result;
}

double TargetMeasures::mean_r2() const {
  double sum = 0;
  std::int64_t count = 0;
  for (const Sums& of : sums_) {
    if (of.not_finite > 0) return undefined_r2;
    const double own = r2(of);
    if (std::isnan(own)) continue;  // constant
    sum += own;
    ++count;
  }
  return count == 0 ? undefined_r2 : sum / static_cast<double>(count);
}

std::string describe_r2(const TargetMeasures& measures) {
  const std::int64_t all = measures.targets();
  const std::int64_t constant = measures.constant_targets();
  if (constant == all) return "R2 undefined (no target varies)";
  if (const std::int64_t count = measures.not_finite(); count > 0)
    return fmt::format("R2 nan ({} prediction{} inf or NaN)", count, count == 1 ? " is" : "s are");
  const std::string text = fmt::format("R2 {:.6g}", measures.mean_r2());
  return constant == 0 ? text
                       : fmt::format("{} of the {} of {} targets that vary", text, all - constant, all);
}

std::string why_not_measured(Measure measure, const LossTraits& loss, bool of_tokens) {
  if (of_tokens) return "it is of labelled samples, and these are tokens";
  if (is_measured_of(measure, loss.prediction)) return "";
  const bool needs_deviations = traits_of(measure).of == Prediction::distributions;
  return fmt::format("its model.loss is \"{}\"{}", loss.name,
                     needs_deviations ? ", which predicts no deviations; \"gaussian\" does" : "");
}

void require_measurable(std::span<const Measure> wanted, std::int64_t outputs, const std::string& location) {
  if (has_measure(wanted, Measure::confusion) && outputs > ClassMeasures::max_matrix_classes) {
    fail_input(
        errors::not_measured,
        "{}run.metrics: \"confusion\" has 8 bytes for each pair of classes; there are {} classes, and it is "
        "measured for at most {}; leave it out, or use \"top5\", which has no matrix",
        location, outputs, ClassMeasures::max_matrix_classes);
  }
  if (has_measure(wanted, Measure::r2) && outputs > max_measured_targets) {
    fail_input(errors::not_measured,
               "{}run.metrics: \"r2\" is measured for at most {} targets, and there are {}; leave it out",
               location, max_measured_targets, outputs);
  }
}

Measures::Measures(std::span<const Measure> wanted, std::int64_t outputs, const std::optional<GridBox>& box)
    : outputs_(outputs) {
  const std::int64_t of_sample = box ? outputs / box->points() * box->grid_points() : outputs;
  require_measurable(wanted, of_sample);
  if (is_classification(wanted)) classes_.emplace(outputs, has_measure(wanted, Measure::confusion));
  if (has_measure(wanted, Measure::r2)) targets_.emplace(of_sample, box);
}

void Measures::add(std::span<const float> outputs, const Batch& batch) {
  const auto samples = static_cast<std::size_t>(batch.samples);
  if (classes_) classes_->add(outputs, {batch.labels, samples});
  if (targets_) targets_->add(outputs, {batch.targets, samples * static_cast<std::size_t>(outputs_)});
}

void Measures::add_up(RankGroup& ranks) {
  if (classes_) classes_->add_up(ranks);
  if (targets_) targets_->add_up(ranks);
}

std::size_t Measures::matrix_bytes(std::int64_t classes) {
  return static_cast<std::size_t>(classes) * static_cast<std::size_t>(classes) * sizeof(std::int64_t);
}

std::size_t Measures::kept_bytes(std::span<const Measure> wanted, std::int64_t outputs) {
  return has_measure(wanted, Measure::confusion) ? matrix_bytes(outputs) : 0;
}

std::size_t Measures::memory_bytes(std::span<const Measure> wanted, std::int64_t outputs,
                                   std::int64_t samples, std::int64_t boxes) {
  if (wanted.empty()) return 0;
  const auto count = static_cast<std::size_t>(outputs);
  const std::size_t values_of_output = has_measure(wanted, Measure::crps) ? 2 : 1;  // with the deviations
  std::size_t bytes = values_of_output * static_cast<std::size_t>(samples) * count * sizeof(float);
  if (has_measure(wanted, Measure::confusion)) bytes += matrix_bytes(outputs);
  if (has_measure(wanted, Measure::r2))
    bytes += static_cast<std::size_t>(boxes) * count * TargetMeasures::bytes_of_target;
  if (has_measure(wanted, Measure::crps)) bytes += CrpsMeasure::memory_bytes(outputs);
  if (has_field_measure(wanted)) bytes += FieldMeasures::memory_bytes(outputs);
  return bytes;
}

}  // namespace mylos
