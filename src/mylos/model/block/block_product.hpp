// BlockProduct: a GEMM of a block, for tables, plans and measurements.
#pragma once

#include <cstdint>
#include <string>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// A GEMM that a block computes for each micro-batch.
struct BlockProduct {
  std::string linear;  // the block's linear map, "qkv"; empty if the block has only one
  GemmProblem problem;
  std::int64_t times = 1;  // per micro-batch
  bool has_bias = false;   // of a weight's gradient: that of a bias is computed with it
};

}  // namespace mylos
