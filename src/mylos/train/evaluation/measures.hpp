// Measures: how good outputs are, beside their loss: the best five classes, the confusion matrix, R2.
//
// They take rows in any order, on any rank, and give the same bits: counts are whole numbers, and sums exact.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mylos/base/numbers/exact_sum.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/data/feed/batch.hpp"
#include "mylos/data/files/statistics.hpp"
#include "mylos/model/options.hpp"
#include "mylos/train/options.hpp"

namespace mylos {

class ClassMeasures {
 public:
  /// Of a confusion matrix, which is one of 128 MiB.
  static constexpr std::int64_t max_matrix_classes = 4096;

  /// `classes` outputs per row. Places among the outputs need no confusion matrix.
  explicit ClassMeasures(std::int64_t classes, bool has_matrix = true)
      : classes_(classes),
        counts_(first_of_confusion + (has_matrix ? static_cast<std::size_t>(classes * classes) : 0)) {}

  /// logits (or probabilities) [rows, classes]; labels [rows], each a class. A row with a NaN is in no cell
  /// of the matrix, and its label is not among the best.
  void add(std::span<const float> logits, std::span<const std::int32_t> labels);

  /// All ranks.
  void add_up(RankGroup& ranks);

  [[nodiscard]] std::int64_t classes() const { return classes_; }
  [[nodiscard]] std::int64_t rows() const { return counts_[0]; }
  [[nodiscard]] std::int64_t rows_with_nan() const { return counts_[1]; }
  /// The share of rows whose label is among the `best` largest, 1 to 5; of equal ones the first is larger.
  [[nodiscard]] double accuracy(std::size_t best) const;
  [[nodiscard]] bool has_matrix() const { return counts_.size() > first_of_confusion; }
  /// How many rows of class `label` have their largest output at `predicted`. Only with a matrix.
  [[nodiscard]] std::int64_t confused(std::int64_t label, std::int64_t predicted) const {
    return confusion()[static_cast<std::size_t>(label * classes_ + predicted)];
  }

 private:
  static constexpr std::size_t max_best = 5;
  static constexpr std::size_t first_of_places = 2;
  static constexpr std::size_t first_of_confusion = first_of_places + max_best;

  /// Rows whose label has this place among the outputs, the largest first.
  [[nodiscard]] std::span<const std::int64_t> at_place() const {
    return std::span(counts_).subspan(first_of_places, max_best);
  }
  [[nodiscard]] std::span<const std::int64_t> confusion() const {
    return std::span(counts_).subspan(first_of_confusion);
  }

  std::int64_t classes_;
  std::vector<std::int64_t> counts_;  // rows, those with a NaN, those at each place, the matrix
};

class TargetMeasures {
 public:
  explicit TargetMeasures(std::int64_t targets) : sums_(static_cast<std::size_t>(targets)) {}

  /// Both [rows, targets].
  void add(std::span<const float> predictions, std::span<const float> targets);
  /// All ranks.
  void add_up(RankGroup& ranks);

  /// 1 - sum of (t - p)^2 / sum of (t - mean of t)^2, of each target over all rows; NaN where it is constant,
  /// or a prediction of it is not finite.
  [[nodiscard]] std::vector<double> r2() const;
  /// Over the targets that vary; NaN where none does, and where a prediction of any target is not finite:
  /// what is left would look better than the network is.
  [[nodiscard]] double mean_r2() const;

  [[nodiscard]] std::int64_t targets() const { return static_cast<std::int64_t>(sums_.size()); }
  /// Those that have no R2, whatever is predicted.
  [[nodiscard]] std::int64_t constant_targets() const;
  [[nodiscard]] bool is_constant(std::int64_t target) const;
  /// Predictions that are inf or NaN, of one target and of all.
  [[nodiscard]] std::int64_t not_finite(std::int64_t target) const {
    return sums_[static_cast<std::size_t>(target)].not_finite;
  }
  [[nodiscard]] std::int64_t not_finite() const;

  static constexpr std::size_t bytes_of_target = 3 * sizeof(ExactSum) + sizeof(std::int64_t);

 private:
  struct Sums {
    ExactSum error, value, square;
    std::int64_t not_finite = 0;
  };
  static_assert(sizeof(Sums) == bytes_of_target);

  /// The sum of squared distances from the mean.
  [[nodiscard]] double spread(const Sums& of) const;

  std::int64_t rows_ = 0;
  std::vector<Sums> sums_;
};

/// "R2 0.98", "R2 0.98 of the 3 of 4 targets that vary", "R2 nan (7 predictions are inf or NaN)" or "R2
/// undefined (no target varies)".
[[nodiscard]] std::string describe_r2(const TargetMeasures& measures);

/// Why an evaluation of such a network does not have it; "": it does.
[[nodiscard]] std::string why_not_measured(Measure measure, LossType loss, bool of_tokens);

/// Throws Error (bad_input) for more classes or targets than are measured. `place`: what the message begins
/// with.
void require_measurable(std::span<const Measure> wanted, std::int64_t outputs, const std::string& place = "");

/// Those that are wanted, of outputs that come batch by batch.
class Measures {
 public:
  /// `outputs` of a sample. Throws as require_measurable().
  Measures(std::span<const Measure> wanted, std::int64_t outputs);

  [[nodiscard]] bool any() const { return classes_ || targets_; }
  /// [batch.samples, outputs] on the host.
  void add(std::span<const float> outputs, const Batch& batch);
  /// All ranks: then each has the sums over all of them.
  void add_up(RankGroup& ranks);

  // Both are none's where nothing of theirs is wanted.
  [[nodiscard]] std::optional<ClassMeasures> take_classes() && { return std::move(classes_); }
  [[nodiscard]] std::optional<TargetMeasures> take_targets() && { return std::move(targets_); }

  /// Of a confusion matrix.
  [[nodiscard]] static std::size_t matrix_bytes(std::int64_t classes);
  /// Of the sums, on the host, and of the outputs of so many samples there.
  [[nodiscard]] static std::size_t memory_bytes(std::span<const Measure> wanted, std::int64_t outputs,
                                                std::int64_t samples);
  /// Of the matrix that a run keeps of each part of the data from its last evaluation on.
  [[nodiscard]] static std::size_t kept_bytes(std::span<const Measure> wanted, std::int64_t outputs);

 private:
  std::int64_t outputs_;
  std::optional<ClassMeasures> classes_;
  std::optional<TargetMeasures> targets_;
};

}  // namespace mylos
