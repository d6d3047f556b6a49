// ConformalCalibration: half widths of intervals that hold with a chosen probability, measured on samples
// that were held out of the training (split conformal prediction: Vovk et al., Algorithmic Learning in a
// Random World, 2005; Lei et al., JASA 113, 2018; tutorial: Angelopoulos and Bates, arXiv 2107.07511).
//
// The score of a sample is |y - mean|, or |y - mean| / standard deviation of networks that predict one. The
// quantile of n scores is the ceil((n + 1) coverage)-th smallest. The interval of a new sample, mean +-
// quantile (x standard deviation), holds y with a probability of at least `coverage`, if the sample is
// exchangeable with those of the calibration. The score of a field's channel is the largest of its points:
// all points of a channel lie in the band at once with that probability.
//
// In a model file:
//
//   /calibration/{coverage, samples}   float64, int64
//   /calibration/{split, score}        texts; score: "absolute" or "scaled"
//   /calibration/quantiles             float64, of each target, or of each channel of a field: in the units
//                                      of the targets, or ("scaled") of the predicted standard deviation
//   /rollout_calibration/...           the same of rollouts, whose samples are their starts; quantiles
//                                      [lead times, channels], scores "absolute"
//   /ensemble_calibration/...,         the same of the mean of an ensemble, in the files of all of its
//   networks, /ensemble_rollout_calibration/...  with members, int64: their number
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/inference/uncertainty/evaluated_rows.hpp"

namespace mylos {

enum class ConformalScore {
  absolute,  // |y - mean|
  scaled,    // |y - mean| / predicted standard deviation
};
[[nodiscard]] std::string_view name_of(ConformalScore score);

struct ConformalCalibration {
  double coverage = 0;       // between 0 and 1
  std::int64_t samples = 0;  // of the calibration
  std::string split;         // "validation", "test" or "data": a file
  ConformalScore score = ConformalScore::absolute;
  std::vector<double> quantiles;
  std::int64_t lead_times = 0;  // of rollouts: quantiles are [lead times, channels]; 0: of single predictions
  std::int64_t members = 1;     // of the ensemble whose mean is predicted; 1: a network alone

  /// Returns the calibration of the states after step `step`, counted from 1, of a rollout.
  [[nodiscard]] ConformalCalibration at_lead_time(std::int64_t step) const;
  /// Returns half of the interval of output `output` of rows one after the other, of targets or of points x
  /// channels. `deviation`: the predicted standard deviation, which absolute scores do not need.
  [[nodiscard]] double half_width(std::size_t output, double deviation) const {
    const double quantile = quantiles[output % quantiles.size()];
    return score == ConformalScore::scaled ? quantile * deviation : quantile;
  }
  /// Writes the ends of the intervals of rows [rows, targets], rounded to nearest. `deviations`: empty where
  /// scores are absolute. `lower` may be `means`.
  void bounds(std::span<const float> means, std::span<const float> deviations, std::span<float> lower,
              std::span<float> upper) const;

  friend bool operator==(const ConformalCalibration&, const ConformalCalibration&) = default;
};

/// Returns ceil((samples + 1) coverage): the quantile is the score of this rank, counted from 1. Coverages
/// are decimal numbers: a product that differs from an integer by rounding alone is that integer.
[[nodiscard]] std::int64_t quantile_rank(std::int64_t samples, double coverage);

/// Returns the fewest samples that have such a quantile: coverage / (1 - coverage), rounded up.
[[nodiscard]] std::int64_t min_calibration_samples(double coverage);

enum class Calibrated { predictions, rollouts, ensemble_predictions, ensemble_rollouts };

/// Adds it to a model file. The state points into `calibration`.
void add_calibration(CheckpointState& state, ConformalCalibration& calibration);

/// All ranks. Returns nothing if the file has none of these. Throws Error (damaged) where its parts
/// contradict each other.
[[nodiscard]] std::optional<ConformalCalibration> read_calibration(const CheckpointReader& reader,
                                                                   Calibrated of = Calibrated::predictions);

/// Throws Error (damaged) unless it has a quantile for each target or channel (and lead time), and standard
/// deviations for scores that are scaled by them.
void require_calibration_fits(const ConformalCalibration& calibration, const TargetShape& shape,
                              const std::string& path);

}  // namespace mylos
