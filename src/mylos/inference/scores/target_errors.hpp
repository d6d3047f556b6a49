// TargetErrors: root mean square, mean absolute and mean error of each variable (a target, or a channel of
// fields) over samples, in the units of the targets.
//
// Points of fields count with their weights (data.weights). Sums are exact, so that results are the same bits
// for any order of samples and any distribution over ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "mylos/base/numbers/exact_sum.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/inference/uncertainty/evaluated_rows.hpp"

namespace mylos {

/// NaN if an error of the variable is not finite.
struct TargetError {
  double rmse = 0;
  double mae = 0;
  double bias = 0;  // mean of prediction - target
};

class TargetErrors {
 public:
  explicit TargetErrors(std::int64_t variables) : sums_(static_cast<std::size_t>(variables)) {}

  void add(const EvaluatedRows& rows);
  /// Adds those of all ranks. All ranks must call it.
  void add_up(RankGroup& ranks);
  [[nodiscard]] std::vector<TargetError> result() const;

 private:
  struct Sums {
    ExactSum weight, square, absolute, error;
    std::int64_t not_finite = 0;
  };
  std::vector<Sums> sums_;
};

}  // namespace mylos
