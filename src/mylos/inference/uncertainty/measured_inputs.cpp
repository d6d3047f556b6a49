#include "mylos/inference/uncertainty/measured_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/comm/ranks/large_broadcast.hpp"
#include "mylos/data/feed/share.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/data/files/scaling/statistics.hpp"
#include "mylos/inference/uncertainty/mahalanobis.hpp"

namespace mylos {
namespace {

/// Ranks beyond this number have nothing to do.
constexpr int segments = 16;
constexpr std::int64_t samples_of_batch = 256;

/// Sums over some samples of z = x - origin, and their extremes: [z, z z^T by rows up to the diagonal, least
/// z, largest z].
class Moments {
 public:
  explicit Moments(std::size_t inputs) : inputs_(inputs), values_(inputs * (inputs + 1) / 2 + 3 * inputs) {
    std::fill_n(minimum(), inputs, std::numeric_limits<double>::infinity());
    std::fill_n(maximum(), inputs, -std::numeric_limits<double>::infinity());
  }

  void add(const double* z) {
    double* product = products();
    for (std::size_t i = 0; i < inputs_; ++i) {
      values_[i] += z[i];
      const double factor = z[i];
#pragma omp simd
      for (std::size_t j = 0; j <= i; ++j) product[j] += factor * z[j];
      product += i + 1;
      minimum()[i] = std::min(minimum()[i], z[i]);
      maximum()[i] = std::max(maximum()[i], z[i]);
    }
  }
  void add(const Moments& other) {
    const std::size_t sums = values_.size() - 2 * inputs_;
    for (std::size_t i = 0; i < sums; ++i) values_[i] += other.values_[i];
    for (std::size_t i = sums; i < sums + inputs_; ++i) values_[i] = std::min(values_[i], other.values_[i]);
    for (std::size_t i = sums + inputs_; i < values_.size(); ++i)
      values_[i] = std::max(values_[i], other.values_[i]);
  }

  [[nodiscard]] std::span<std::byte> bytes() {
    return std::as_writable_bytes(std::span(values_));
  }
  [[nodiscard]] double sum(std::size_t i) const {
    return values_[i];
  }
  [[nodiscard]] double product(std::size_t i, std::size_t j) const {
    const auto [column, row] = std::minmax(i, j);
    return values_[inputs_ + row * (row + 1) / 2 + column];
  }
  [[nodiscard]] double minimum(std::size_t i) const {
    return values_[values_.size() - 2 * inputs_ + i];
  }
  [[nodiscard]] double maximum(std::size_t i) const {
    return values_[values_.size() - inputs_ + i];
  }

 private:
  double* products() {
    return values_.data() + inputs_;
  }
  double* minimum() {
    return values_.data() + values_.size() - 2 * inputs_;
  }
  double* maximum() {
    return values_.data() + values_.size() - inputs_;
  }

  std::size_t inputs_;
  std::vector<double> values_;
};

/// Calls take(z) for each sample of segment `segment` of `of`, with z = x - origin.
void for_each_sample(const EvaluationData& data, int segment, int of, const std::vector<double>& origin,
                     const std::function<void(const double* z)>& take) {
  const auto pass =
      data.pass_over(DataPart::train, Normalizer{},
                     {.type = DType::fp32, .max_samples = samples_of_batch, .rank = segment, .ranks = of});
  std::vector<double> z(origin.size());
  while (const Batch* batch = pass->next()) {
    const auto* x = static_cast<const float*>(batch->inputs);
    for (std::int64_t sample = 0; sample < batch->samples; ++sample) {
      for (std::size_t i = 0; i < z.size(); ++i) z[i] = static_cast<double>(*x++) - origin[i];
      take(z.data());
    }
  }
}

/// Returns the inputs of the first sample, from which sums are taken: of numbers far from 0 they lose less.
std::vector<double> first_sample(const EvaluationData& data, std::size_t inputs) {
  const auto pass = data.pass_over(DataPart::train, Normalizer{}, {.type = DType::fp32, .max_samples = 1});
  const auto* const x = static_cast<const float*>(pass->next()->inputs);
  return {x, x + inputs};
}

Moments moments_of(RankGroup& ranks, const EvaluationData& data, const std::vector<double>& origin) {
  const Share mine = share_of(segments, ranks.rank(), ranks.size());
  std::vector<Moments> parts;
  run_on_all(ranks, [&] {
    for (std::int64_t i = 0; i < mine.count; ++i) {
      Moments& part = parts.emplace_back(origin.size());
      for_each_sample(data, static_cast<int>(mine.first + i), segments, origin,
                      [&](const double* z) { part.add(z); });
    }
  });
  Moments total(origin.size());
  Moments received(origin.size());
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const Share of_rank = share_of(segments, rank, ranks.size());
    for (std::int64_t i = 0; i < of_rank.count; ++i) {
      Moments& part = rank == ranks.rank() ? parts[static_cast<std::size_t>(i)] : received;
      broadcast_large(ranks, part.bytes(), rank);
      total.add(part);
    }
  }
  return total;
}

/// Sets mean, deviation and inverse covariance.
void set_moments(InputStatistics& statistics, const Moments& moments, const std::vector<double>& origin) {
  const std::size_t n = origin.size();
  const auto samples = static_cast<double>(statistics.samples);
  std::vector<double> covariance(n * n);
  ColumnStatistics columns;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      covariance[i * n + j] =
          (moments.product(i, j) - moments.sum(i) * moments.sum(j) / samples) / (samples - 1);
    }
    columns.mean.push_back(origin[i] + moments.sum(i) / samples);
    columns.deviation.push_back(std::sqrt(std::max(0.0, covariance[i * n + i])));
    columns.minimum.push_back(origin[i] + moments.minimum(i));
    columns.maximum.push_back(origin[i] + moments.maximum(i));
  }
  for (const std::size_t i : constant_columns(Normalize::standard, columns)) columns.deviation[i] = 0;
  RidgedInverse inverse = ridged_inverse(covariance, columns.deviation);
  statistics.mean = std::move(columns.mean);
  statistics.deviation = std::move(columns.deviation);
  statistics.inverse_covariance = std::move(inverse.matrix);
  statistics.ridge = inverse.ridge;
}

/// The largest of many numbers.
class Largest {
 public:
  explicit Largest(std::size_t count) : count_(count) {}

  void add(double value) {
    if (heap_.size() < count_) {
      heap_.push_back(value);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    } else if (value > heap_.front()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.back() = value;
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
  }
  /// All ranks. Returns those of all ranks, in ascending order.
  [[nodiscard]] std::vector<double> of_all(RankGroup& ranks) const {
    std::vector<double> all;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      auto size = static_cast<std::int64_t>(heap_.size());
      ranks.broadcast(&size, sizeof size, rank);
      std::vector<double> part = heap_;
      part.resize(static_cast<std::size_t>(size));
      broadcast_large(ranks, std::as_writable_bytes(std::span(part)), rank);
      all.insert(all.end(), part.begin(), part.end());
    }
    std::sort(all.begin(), all.end());
    return {all.end() - static_cast<std::ptrdiff_t>(std::min(count_, all.size())), all.end()};
  }

 private:
  std::size_t count_;
  std::vector<double> heap_;
};

/// Where a quantile lies among `samples` numbers in ascending order, counted from 0.
double position_of(double quantile, std::int64_t samples) {
  return quantile * static_cast<double>(samples - 1);
}

constexpr double distance_levels[] = {0.99, 0.999, 1};

/// Sets the quantiles of the training samples' distances.
void set_distances(InputStatistics& statistics, RankGroup& ranks, const EvaluationData& data) {
  const std::size_t n = statistics.mean.size();
  const std::optional<std::vector<double>> factor = distance_factor(statistics.inverse_covariance, n);
  if (!factor) fail_run(errors::internal, "the inverse of a covariance is not positive definite");
  const auto first_kept =
      static_cast<std::int64_t>(std::floor(position_of(distance_levels[0], statistics.samples)));
  Largest largest(static_cast<std::size_t>(statistics.samples - first_kept));
  const Share mine = share_of(segments, ranks.rank(), ranks.size());
  run_on_all(ranks, [&] {
    for (std::int64_t i = 0; i < mine.count; ++i) {
      for_each_sample(
          data, static_cast<int>(mine.first + i), segments, statistics.mean, [&](const double* z) {
            const double square = squared_distance(factor->data(), z, static_cast<std::int64_t>(n));
            largest.add(std::sqrt(square));
          });
    }
  });
  const std::vector<double> kept = largest.of_all(ranks);
  for (std::size_t i = 0; i < std::size(distance_levels); ++i) {
    const double position = position_of(distance_levels[i], statistics.samples);
    const double below = std::floor(position);
    const auto index = static_cast<std::size_t>(static_cast<std::int64_t>(below) - first_kept);
    const double next = kept[std::min(index + 1, kept.size() - 1)];
    statistics.distances[i] = kept[index] + (position - below) * (next - kept[index]);
  }
}

}  // namespace

InputStatistics measure_inputs(RankGroup& ranks, const EvaluationData& data, std::int64_t inputs,
                               const std::string& path) {
  if (inputs > max_distance_inputs) {
    fail_input(errors::not_measured,
               "{}: a sample has {} inputs; distances of inputs are of vectors of at most {}: their range "
               "alone is known",
               path, inputs, max_distance_inputs);
  }
  InputStatistics statistics;
  statistics.samples = data.samples(DataPart::train);
  if (statistics.samples < 2) {
    fail_input(errors::too_little_data, "{}: {} training sample{}; a covariance needs two", path,
               statistics.samples, statistics.samples == 1 ? "" : "s");
  }
  std::vector<double> origin;
  run_on_all(ranks, [&] { origin = first_sample(data, static_cast<std::size_t>(inputs)); });
  set_moments(statistics, moments_of(ranks, data, origin), origin);
  set_distances(statistics, ranks, data);
  return statistics;
}

}  // namespace mylos
