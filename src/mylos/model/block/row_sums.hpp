// RowSums: the per-row results of a loss in the workspace, before they are summed.
#pragma once

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/pointwise/loss.hpp"
#include "mylos/model/block/loss_head.hpp"

namespace mylos {

struct RowSums {
  RowSums(Pieces& workspace, std::int64_t row_count)
      : loss(workspace.take<float>(row_count)),
        correct(workspace.take<std::int32_t>(row_count)),
        rows(row_count) {}

  void add_to(const Execution& exec, Prediction prediction, LossSums* sums) const {
    sum_rows(exec, loss, rows, &sums->loss);
    if (prediction == Prediction::classes) sum_rows(exec, correct, rows, &sums->correct);
  }

  float* loss;
  std::int32_t* correct;
  std::int64_t rows;
};

}  // namespace mylos
