// Measures: qualities of outputs other than the loss: top-5 accuracy, the confusion matrix, R2.
//
// Results are the same bits for any order of rows and any distribution over ranks: counts are integers, and
// sums are exact.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mylos/base/numbers/exact_sum.hpp"
#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/data/feed/batch.hpp"
#include "mylos/data/files/scaling/statistics.hpp"
#include "mylos/model/options.hpp"
#include "mylos/train/options.hpp"

namespace mylos {

class ClassMeasures {
 public:
  /// The maximum number of classes of a confusion matrix, which then takes 128 MiB.
  static constexpr std::int64_t max_matrix_classes = 4096;

  /// `classes`: outputs per row. Positions among the outputs need no confusion matrix.
  explicit ClassMeasures(std::int64_t classes, bool has_matrix = true)
      : classes_(classes),
        counts_(first_of_confusion + (has_matrix ? static_cast<std::size_t>(classes * classes) : 0)) {}

  /// Adds rows: logits (or probabilities) [rows, classes] and labels [rows], each a class. A row with a NaN
  /// is in no cell of the matrix, and its label is not among the best.
  void add(std::span<const float> logits, std::span<const std::int32_t> labels);

  /// Adds the counts of all ranks. All ranks must call it.
  void add_up(RankGroup& ranks);

  [[nodiscard]] std::int64_t classes() const { return classes_; }
  [[nodiscard]] std::int64_t rows() const { return counts_[0]; }
  [[nodiscard]] std::int64_t rows_with_nan() const { return counts_[1]; }
  /// Returns the fraction of rows whose label is among the `best` largest outputs; `best` is 1 to 5. Among
  /// equal outputs the first counts as larger.
  [[nodiscard]] double accuracy(std::size_t best) const;
  [[nodiscard]] bool has_matrix() const { return counts_.size() > first_of_confusion; }
  /// Returns the number of rows of class `label` whose largest output is `predicted`. Requires the matrix.
  [[nodiscard]] std::int64_t confused(std::int64_t label, std::int64_t predicted) const {
    return confusion()[static_cast<std::size_t>(label * classes_ + predicted)];
  }

 private:
  static constexpr std::size_t max_best = 5;
  static constexpr std::size_t first_of_positions = 2;
  static constexpr std::size_t first_of_confusion = first_of_positions + max_best;

  /// Returns the numbers of rows by the label's position among the outputs, the largest output first.
  [[nodiscard]] std::span<const std::int64_t> at_position() const {
    return std::span(counts_).subspan(first_of_positions, max_best);
  }
  [[nodiscard]] std::span<const std::int64_t> confusion() const {
    return std::span(counts_).subspan(first_of_confusion);
  }

  std::int64_t classes_;
  std::vector<std::int64_t> counts_;  // rows, rows with a NaN, rows by the label's position, the matrix
};

class TargetMeasures {
 public:
  /// `targets`: of whole samples. `box`: the points of a sample that this rank has, if others have the rest.
  explicit TargetMeasures(std::int64_t targets, std::optional<GridBox> box = {})
      : box_(box), sums_(static_cast<std::size_t>(targets)) {}

  /// Adds rows; both arguments are [rows, targets], or of the box. A target that is NaN is missing and does
  /// not count.
  void add(std::span<const float> predictions, std::span<const float> targets);
  /// Adds the sums of all ranks. All ranks must call it.
  void add_up(RankGroup& ranks);

  /// Returns 1 - sum of (t - p)^2 / sum of (t - mean of t)^2 for each target over all rows; NaN if the
  /// target is constant or one of its predictions is not finite.
  [[nodiscard]] std::vector<double> r2() const;
  /// Returns the mean over the targets that vary; NaN if none does, or if a prediction of any target is not
  /// finite, since a mean over the others would overrate the network.
  [[nodiscard]] double mean_r2() const;

  [[nodiscard]] std::int64_t targets() const { return static_cast<std::int64_t>(sums_.size()); }
  /// Returns the number of constant targets, which have no R2.
  [[nodiscard]] std::int64_t constant_targets() const;
  [[nodiscard]] bool is_constant(std::int64_t target) const;
  /// Returns the number of predictions that are inf or NaN, of one target or of all.
  [[nodiscard]] std::int64_t not_finite(std::int64_t target) const {
    return sums_[static_cast<std::size_t>(target)].not_finite;
  }
  [[nodiscard]] std::int64_t not_finite() const;

  static constexpr std::size_t bytes_of_target = 3 * sizeof(ExactSum) + 2 * sizeof(std::int64_t);

 private:
  struct Sums {
    ExactSum error, value, square;
    std::int64_t not_finite = 0;
    std::int64_t missing = 0;
  };
  static_assert(sizeof(Sums) == bytes_of_target);

  /// Returns the sum of squared distances from the mean.
  [[nodiscard]] double spread(const Sums& of) const;
  [[nodiscard]] double r2(const Sums& of) const;

  std::optional<GridBox> box_;
  std::int64_t rows_ = 0;  // of all ranks that share samples the first counts them
  std::vector<Sums> sums_;
};

/// Returns "R2 0.98", "R2 0.98 of the 3 of 4 targets that vary", "R2 nan (7 predictions are inf or NaN)" or
/// "R2 undefined (no target varies)".
[[nodiscard]] std::string describe_r2(const TargetMeasures& measures);

/// Returns why an evaluation of such a network does not have this measure; "" if it does.
[[nodiscard]] std::string why_not_measured(Measure measure, const LossTraits& loss, bool of_tokens);

/// Throws Error (bad_input) if there are more classes or targets than can be measured. `location`: the start
/// of the message.
void require_measurable(std::span<const Measure> wanted, std::int64_t outputs,
                        const std::string& location = "");

/// The measures that a run requests, of outputs that arrive in batches.
class Measures {
 public:
  /// `outputs`: per sample, or per `box`. Throws as require_measurable().
  Measures(std::span<const Measure> wanted, std::int64_t outputs, const std::optional<GridBox>& box = {});

  [[nodiscard]] bool any() const { return classes_ || targets_; }
  /// Adds outputs [batch.samples, outputs], which are in host memory.
  void add(std::span<const float> outputs, const Batch& batch);
  /// Adds the sums of all ranks, so that each has the total. All ranks must call it.
  void add_up(RankGroup& ranks);

  // Return nothing if no measure of this kind is requested.
  [[nodiscard]] std::optional<ClassMeasures> take_classes() && { return std::move(classes_); }
  [[nodiscard]] std::optional<TargetMeasures> take_targets() && { return std::move(targets_); }

  /// Returns the bytes of a confusion matrix.
  [[nodiscard]] static std::size_t matrix_bytes(std::int64_t classes);
  /// Returns the bytes in host memory: the sums, and the outputs of `samples` samples. `boxes`: of `outputs`
  /// outputs that make up a sample; sums of single targets are of whole samples.
  [[nodiscard]] static std::size_t memory_bytes(std::span<const Measure> wanted, std::int64_t outputs,
                                                std::int64_t samples, std::int64_t boxes = 1);
  /// Returns the bytes of the matrix that a run stores for each part of the data after an evaluation.
  [[nodiscard]] static std::size_t kept_bytes(std::span<const Measure> wanted, std::int64_t outputs);

 private:
  std::int64_t outputs_;
  std::optional<ClassMeasures> classes_;
  std::optional<TargetMeasures> targets_;
};

}  // namespace mylos
