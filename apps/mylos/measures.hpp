// Measures: how good outputs are, beside their loss: the best five classes, the confusion matrix, R2.
//
// They take rows in any order and give the same bits whoever computed them: counts are whole numbers, and
// sums exact.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mylos/base/exact_sum.hpp"

namespace mylos::app {

class ClassMeasures {
 public:
  /// `classes` outputs per row.
  explicit ClassMeasures(std::int64_t classes)
      : classes_(classes), confusion_(static_cast<std::size_t>(classes * classes)) {}

  /// logits (or probabilities) [rows, classes]; labels [rows], each a class. A row with a NaN is in no cell
  /// of the matrix, and its label is not among the best.
  void add(std::span<const float> logits, std::span<const std::int32_t> labels);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t rows_with_nan() const { return rows_with_nan_; }
  /// The share of rows whose label is among the `best` largest, 1 to 5; of equal ones the first is larger.
  [[nodiscard]] double accuracy(std::size_t best) const;
  /// How many rows of class `label` have their largest output at `predicted`.
  [[nodiscard]] std::int64_t confused(std::int64_t label, std::int64_t predicted) const {
    return confusion_[static_cast<std::size_t>(label * classes_ + predicted)];
  }

 private:
  static constexpr std::size_t most_best = 5;

  std::int64_t classes_;
  std::int64_t rows_ = 0;
  std::int64_t rows_with_nan_ = 0;
  std::array<std::int64_t, most_best> at_place_{};  // rows whose label has this place, the largest first
  std::vector<std::int64_t> confusion_;
};

class TargetMeasures {
 public:
  explicit TargetMeasures(std::int64_t targets) : sums_(static_cast<std::size_t>(targets)) {}

  /// Both [rows, targets].
  void add(std::span<const float> predictions, std::span<const float> targets);

  /// 1 - sum of (t - p)^2 / sum of (t - mean of t)^2, of each target over all rows; NaN where it is constant,
  /// or something is not finite.
  [[nodiscard]] std::vector<double> r2() const;

 private:
  struct Sums {
    ExactSum error, value, square;
    bool finite = true;
  };
  std::int64_t rows_ = 0;
  std::vector<Sums> sums_;
};

}  // namespace mylos::app
