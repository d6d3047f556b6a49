// ConformalScores: the scores of the samples of a calibration, on all ranks, and their quantiles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/inference/uncertainty/calibration.hpp"
#include "mylos/inference/uncertainty/evaluated_rows.hpp"

namespace mylos {

class ConformalScores {
 public:
  /// `samples`: those of this rank.
  ConformalScores(ConformalScore score, std::int64_t channels, std::int64_t samples);
  /// Returns the bytes that such an object allocates.
  [[nodiscard]] static std::size_t memory_bytes(std::int64_t channels, std::int64_t samples) {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(samples) * sizeof(double);
  }

  /// Adds samples. The score of a field's channel is the largest of its points that count; a sample of which
  /// all its targets are missing has none.
  void add(const EvaluatedRows& rows);
  /// Adds the score of a sample in one channel. Each channel gets one of each sample that has targets of it.
  void add(std::int64_t channel, double score) {
    of_channels_[static_cast<std::size_t>(channel)].push_back(score);
  }

  /// All ranks. Returns how many scores of all ranks are inf or NaN.
  [[nodiscard]] std::int64_t not_finite(RankGroup& ranks) const;
  /// All ranks. Throws Error (too_little_data), beginning with `data`, if a channel has fewer scores than the
  /// coverage needs, because its targets are missing.
  void require_enough(RankGroup& ranks, double coverage, const std::string& data) const;
  /// All ranks, once not_finite() is 0. Returns, for each channel, the score of rank quantile_rank() among
  /// those of all MPI ranks, which is the same for any distribution over them: each bit of the result is
  /// found by counting. Requires min_calibration_samples() of each channel. Sorts the scores.
  [[nodiscard]] std::vector<double> quantiles(RankGroup& ranks, double coverage);

 private:
  /// All ranks. Returns the number of scores of each channel on all ranks.
  [[nodiscard]] std::vector<std::int64_t> samples(RankGroup& ranks) const;

  ConformalScore score_;
  std::vector<std::vector<double>> of_channels_;
};

}  // namespace mylos
