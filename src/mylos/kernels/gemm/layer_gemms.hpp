// The GEMMs that benchmarks compute: the three of a linear layer, for the layers of MLPs and small
// transformers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// The sizes of a linear layer, and the samples (or tokens) of a micro-batch.
struct LayerShape {
  std::int64_t samples = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

struct NamedGemm {
  std::string name;  // "dW/512x784x2048": form, samples, inputs, outputs
  GemmProblem problem;
};

/// Returns the output, the gradient of the input and the gradient of the weights, with all matrices of one
/// type.
[[nodiscard]] std::vector<NamedGemm> gemms_of_layer(const LayerShape& layer, DType type);

/// Returns layers of MLPs and small transformers; on a device also those of GPT-2 124M at 16 x 1024 tokens.
[[nodiscard]] std::vector<LayerShape> typical_layers();

/// Returns the GEMMs of all typical layers.
[[nodiscard]] std::vector<NamedGemm> gemms_to_measure(DType type);

}  // namespace mylos
