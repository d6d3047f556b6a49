// UncertaintyMeasures: how well stated uncertainties hold on samples whose targets are known.
//
// Of predicted standard deviations s, which are taken for those of normal distributions, over all N targets
// of all samples (and points of fields):
//
//   observed coverage at p    share of |mean - y| / s within the central interval of probability p
//   calibration error         mean over p of |observed - p|, for 100 levels p = 0, 1/99, ..., 1; its root
//   mean
//                             square; and the area between the curve of the observed coverage and p
//   sharpness                 square root of the mean of s^2
//   CRPS                      mean of s (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi)), z = (y - mean) / s
//
// These are what uncertainty-toolbox computes (mean_absolute_calibration_error,
// root_mean_squared_calibration_error, miscalibration_area, sharpness, crps_gaussian), of which the defaults
// are the 100 levels (Chung et al., arXiv 2109.10254). CRPS: Gneiting and Raftery, JASA 102, 2007.
//
// Of predicted quantiles: the share of the targets that are at most the quantile of each level, and the share
// of the targets with a quantile above that of a higher level.
//
// Of calibrated intervals: the share that holds the target, or all points of a field's channel, and the mean
// width. Results are the same bits for any order of samples and any distribution over ranks: counts are
// integers, and sums are exact.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mylos/base/numbers/exact_sum.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/inference/uncertainty/calibration.hpp"
#include "mylos/inference/uncertainty/evaluated_rows.hpp"

namespace mylos {

/// The results over all samples.
struct UncertaintyResult {
  struct Coverage {
    double nominal = 0;
    double observed = 0;
  };
  /// Of predicted standard deviations.
  struct Deviations {
    std::vector<Coverage> curve;   // at the 100 levels
    std::vector<Coverage> chosen;  // at 50, 80, 90 and 95 %
    double calibration_error = 0;
    double rms_calibration_error = 0;
    double miscalibration_area = 0;
    double sharpness = 0;
    double crps = 0;
  };
  /// Of predicted quantiles.
  struct Quantiles {
    std::vector<Coverage> levels;  // the share of targets at or below
    double crossed = 0;            // the share of targets whose quantiles do not ascend
  };
  /// Of calibrated intervals.
  struct Intervals {
    Coverage coverage;
    std::vector<double> of_channels;  // observed coverage of each target or channel
    double mean_width = 0;
  };

  std::int64_t samples = 0;
  std::int64_t not_finite = 0;  // errors or standard deviations that are inf or NaN; the rest then is empty
  std::optional<Deviations> deviations = {};
  std::optional<Quantiles> quantiles = {};
  std::optional<Intervals> intervals = {};
};

class UncertaintyMeasures {
 public:
  /// `has_deviations`: whether rows have standard deviations; `quantiles`: the levels of those that they
  /// have.
  UncertaintyMeasures(bool has_deviations, std::optional<ConformalCalibration> calibration,
                      std::span<const double> quantiles = {});

  void add(const EvaluatedRows& rows);
  /// Adds those of all ranks. All ranks must call it.
  void add_up(RankGroup& ranks);
  [[nodiscard]] UncertaintyResult result() const;

 private:
  static constexpr std::size_t levels = 100;
  static constexpr std::array<double, 4> chosen_levels{0.5, 0.8, 0.9, 0.95};

  void add_deviation(double error, double deviation);
  void add_quantiles(const EvaluatedRows& rows, std::size_t value);
  void add_intervals(const EvaluatedRows& rows, std::size_t first);
  [[nodiscard]] UncertaintyResult::Deviations deviations_result() const;
  [[nodiscard]] UncertaintyResult::Quantiles quantiles_result() const;

  bool has_deviations_;
  std::optional<ConformalCalibration> calibration_;
  std::vector<double> quantiles_;
  std::int64_t samples_ = 0;
  std::int64_t values_ = 0;
  std::int64_t not_finite_ = 0;
  std::array<std::int64_t, levels> first_within_{};  // by the first level whose interval holds the target
  std::array<std::int64_t, chosen_levels.size()> within_chosen_{};
  std::vector<std::int64_t> below_;  // targets at or below the quantile of each level
  std::int64_t crossed_ = 0;
  std::vector<std::int64_t> rated_;  // samples with targets, of each channel
  std::vector<std::int64_t> held_;   // calibrated intervals that hold the target, of each channel
  ExactSum square_;                  // of s^2
  ExactSum crps_;
  ExactSum width_;
};

}  // namespace mylos
