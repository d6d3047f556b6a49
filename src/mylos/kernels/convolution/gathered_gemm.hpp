// GEMMs of gathered rows, some rows at a time: target[point] = W (what the point's taps see) + bias.
#pragma once

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/kernels/grid/grid_gather.hpp"

namespace mylos {

struct GatheredGemm {
  Gather gather;
  DType type = DType::fp32;         ///< of the gathered values, the weights and the bias
  std::int64_t outputs = 1;         ///< channels of one group
  GridShape target;                 ///< with the channels of all groups
  Extents first_point = {0, 0, 0};  ///< point j of the gather is first_point + stride j of the target
  Extents stride = {1, 1, 1};
  DType target_type = DType::fp32;  ///< `type`, or fp32

  /// Returns true if the GEMM writes its rows to the target directly.
  [[nodiscard]] bool in_place() const;
};

struct GatheredOperands {
  const void* from;     ///< [samples, points, channels]
  const void* weights;  ///< [groups][outputs][gather's columns]
  const void* bias;     ///< [groups * outputs], or null
  void* target;
};

/// Returns the number of rows that are gathered at a time if each takes `row_bytes` bytes.
[[nodiscard]] std::int64_t gathered_rows(std::int64_t row_bytes, std::int64_t all_rows);

/// The workspace of a gathered GEMM.
struct GatheredPieces {
  GatheredPieces(Pieces& pieces, const GemmEngine& engine, const GatheredGemm& gemm, std::int64_t samples);

  std::int64_t rows = 0;  // at a time
  std::byte* columns = nullptr;
  float* gemms = nullptr;
  std::byte* engine_workspace = nullptr;
  float* taps = nullptr;  // of a depthwise convolution, which needs no other workspace
};

void run_gathered_gemm(const Execution& exec, GemmEngine& engine, const GatheredGemm& gemm,
                       const GatheredOperands& operands, const GatheredPieces& workspace,
                       std::int64_t samples);

}  // namespace mylos
