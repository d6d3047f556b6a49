// EvaluatedSums: losses and hits over batches and ranks. The sums are exact, so the result does not depend on
// which rank has which batch.
#pragma once

#include <vector>

#include "mylos/base/numbers/exact_sum.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/model/block/loss_head.hpp"
#include "mylos/train/evaluation/evaluation.hpp"

namespace mylos {

struct EvaluatedSums {
  ExactSum loss;
  double not_finite = 0;  // sum of the losses that are not
  std::int64_t correct = 0;
};

/// Adds the sums of a batch to those of the rank, and sets the batch's to 0. Both are in device memory.
inline void move_into(const Execution& exec, LossSums* batch, EvaluatedSums* sums) {
  for_each_index(
      exec, "add batch", 1, KOKKOS_LAMBDA(std::int64_t) {
        if (Kokkos::isfinite(batch->loss)) {
          sums->loss.add(batch->loss);
        } else {
          sums->not_finite += batch->loss;
        }
        sums->correct += batch->correct;
        *batch = LossSums{};
      });
}

/// All ranks. Sets count, loss and accuracy of `result` from the sums of all ranks. `rows`: those of this
/// rank. `boxes`: of a sample, if a row is one of them: a mean over boxes, each with the share of its points,
/// is that over samples.
inline void set_loss_and_accuracy(RankGroup& ranks, const EvaluatedSums& sums, std::int64_t rows,
                                  Evaluation& result, std::int64_t boxes = 1) {
  struct Part {
    EvaluatedSums sums;
    std::int64_t rows = 0;
  };
  const Part own{sums, rows};
  std::vector<Part> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof own);
  EvaluatedSums total;
  for (const Part& part : all) {
    result.count += part.rows;
    total.loss.add(part.sums.loss);
    total.not_finite += part.sums.not_finite;
    total.correct += part.sums.correct;
  }
  result.loss = (total.loss.value() + total.not_finite) / static_cast<double>(result.count);
  result.accuracy = static_cast<double>(total.correct) / static_cast<double>(result.count);
  result.count /= boxes;
}

}  // namespace mylos
