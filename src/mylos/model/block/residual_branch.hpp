// The common options of the two blocks of a transformer layer: y = x + dropout(branch(norm(x))) (pre-norm, as
// in GPT-2).
#pragma once

#include <cstdint>
#include <string>

#include "mylos/model/block/norm.hpp"

namespace mylos {

struct BranchOptions {
  std::string name;
  std::int64_t width = 0;
  std::int64_t context = 0;  // tokens per sample
  Norm norm;
  bool bias = true;
  double dropout = 0;
  DType input_type = DType::fp32;  // an input of another type than `type` is cast on entry
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;
  float initial_std = 0.02f;
  float residual_std = 0.02f;  // of the matrix whose product is added to x: GPT-2's 0.02/sqrt(2 layers)
  std::uint64_t seed = 0;
};

}  // namespace mylos
