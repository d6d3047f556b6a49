// RowSums: what a loss leaves for each row in the workspace, before it is summed up.
#pragma once

#include "mylos/base/arena.hpp"
#include "mylos/kernels/loss.hpp"
#include "mylos/model/loss_head.hpp"

namespace mylos {

[[nodiscard]] inline std::size_t row_sums_bytes(std::int64_t rows) {
  return 2 * aligned_bytes(static_cast<std::size_t>(rows) * 4);
}

struct RowSums {
  RowSums(std::byte* place, std::int64_t row_count)
      : loss(reinterpret_cast<float*>(place)),
        correct(reinterpret_cast<std::int32_t*>(place + row_sums_bytes(row_count) / 2)),
        rows(row_count) {}

  void add_to(const Execution& exec, LossType type, LossSums* sums) const {
    sum_rows(exec, loss, rows, &sums->loss);
    if (type == LossType::cross_entropy) sum_rows(exec, correct, rows, &sums->correct);
  }

  float* loss;
  std::int32_t* correct;
  std::int64_t rows;
};

}  // namespace mylos
