#include "mylos/inference/uncertainty/conformal_scores.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/samples.hpp"

namespace mylos {
namespace {

/// Returns the larger one; NaN if one is NaN.
double larger(double a, double b) {
  return a >= b || std::isnan(a) ? a : b;
}

}  // namespace

ConformalScores::ConformalScores(ConformalScore score, std::int64_t channels, std::int64_t samples)
    : score_(score), of_channels_(static_cast<std::size_t>(channels)) {
  for (std::vector<double>& scores : of_channels_) scores.reserve(static_cast<std::size_t>(samples));
}

void ConformalScores::add(const EvaluatedRows& rows) {
  const auto channels = static_cast<std::size_t>(rows.shape.channels);
  const auto row = static_cast<std::size_t>(rows.shape.row());
  for (std::size_t first = 0; first < rows.errors.size(); first += row) {
    for (std::size_t channel = 0; channel < channels; ++channel) {
      double largest = 0;
      bool has_any = rows.known.empty();
      for (std::size_t i = first + channel; i < first + row; i += channels) {
        if (!rows.counts(i)) continue;
        has_any = true;
        const double error = std::abs(rows.errors[i]);
        largest = larger(largest, score_ == ConformalScore::scaled ? error / rows.deviations[i] : error);
      }
      if (has_any) of_channels_[channel].push_back(largest);
    }
  }
}

std::int64_t ConformalScores::not_finite(RankGroup& ranks) const {
  std::vector<std::int64_t> count{0};
  for (const std::vector<double>& scores : of_channels_)
    count[0] +=
        std::count_if(scores.begin(), scores.end(), [](double score) { return !std::isfinite(score); });
  ranks.add_up(count);
  return count[0];
}

std::vector<std::int64_t> ConformalScores::samples(RankGroup& ranks) const {
  std::vector<std::int64_t> samples;
  for (const std::vector<double>& scores : of_channels_) samples.push_back(std::ssize(scores));
  ranks.add_up(samples);
  return samples;
}

void ConformalScores::require_enough(RankGroup& ranks, double coverage, const std::string& data) const {
  const std::int64_t least = std::ranges::min(samples(ranks));
  const std::int64_t needed = min_calibration_samples(coverage);
  if (least >= needed) return;
  fail_input(errors::too_little_data,
             "{}: a target has values in {} samples, and is missing in the others (data.arrays.missing); a "
             "coverage of {} needs at least {}",
             data, least, coverage, needed);
}

std::vector<double> ConformalScores::quantiles(RankGroup& ranks, double coverage) {
  const std::size_t channels = of_channels_.size();
  std::vector<std::int64_t> rank;  // of each channel
  for (const std::int64_t samples : this->samples(ranks)) rank.push_back(quantile_rank(samples, coverage));
  for (std::vector<double>& scores : of_channels_) std::sort(scores.begin(), scores.end());
  // Doubles from 0 on are ordered like their bits. From the highest bit down, a bit of the result is set if
  // fewer than `rank` scores lie below the number that then has it.
  std::vector<std::uint64_t> found(channels, 0);
  std::vector<std::int64_t> below(channels);
  constexpr int sign_bit = std::numeric_limits<std::uint64_t>::digits - 1;
  for (int bit = sign_bit - 1; bit >= 0; --bit) {
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const auto limit = std::bit_cast<double>(found[channel] | std::uint64_t{1} << bit);
      const std::vector<double>& scores = of_channels_[channel];
      // Where the bits are those of a NaN, all scores lie below.
      below[channel] = std::isnan(limit)
                           ? static_cast<std::int64_t>(scores.size())
                           : std::lower_bound(scores.begin(), scores.end(), limit) - scores.begin();
    }
    ranks.add_up(below);
    for (std::size_t channel = 0; channel < channels; ++channel)
      if (below[channel] < rank[channel]) found[channel] |= std::uint64_t{1} << bit;
  }
  std::vector<double> quantiles;
  for (const std::uint64_t bits : found) quantiles.push_back(std::bit_cast<double>(bits));
  return quantiles;
}

}  // namespace mylos
