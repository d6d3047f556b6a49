// The products that gemm_bench computes: the three of every layer of MLPs and of small transformers; on a
// device also those of GPT-2 124M's layers at 16 x 1024 tokens.
#pragma once

#include <string>
#include <vector>

#include "mylos/kernels/gemm.hpp"

namespace mylos {

struct NamedProduct {
  std::string name;  // "dW/512x784x2048": form, samples, inputs, outputs
  GemmProblem problem;
};

[[nodiscard]] std::vector<NamedProduct> products_to_measure(DType type);

}  // namespace mylos
