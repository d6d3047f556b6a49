// ActivationLayout: where boundary activations, kept tensors, gradients and workspace of one micro-batch lie
// in the activation arena when every block keeps what its backward pass reads (store-all).
//
// Kept tensors are a stack from the bottom; gradients and workspace are transients at the top. The gradients
// of two neighbouring boundaries are alive together, so even and odd boundaries take turns in two places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mylos/model/chain.hpp"

namespace mylos {

struct ActivationLayout {
  std::int64_t rows = 0;                     // planned for: the most samples of a micro-batch
  std::vector<std::size_t> output;           // of each block: offset of its boundary activation
  std::vector<std::size_t> saved;            // of each block
  std::vector<std::size_t> output_gradient;  // of each block
  std::vector<std::size_t> forward_workspace;
  std::vector<std::size_t> backward_workspace;
  std::size_t row_loss = 0;     // float per row
  std::size_t row_correct = 0;  // int32 per row
  std::size_t bytes = 0;
};

/// The input of the first block lies in the caller's memory and is not counted.
[[nodiscard]] ActivationLayout make_activation_layout(const Chain& chain, const GemmEngine& gemm,
                                                      std::int64_t rows);

}  // namespace mylos
