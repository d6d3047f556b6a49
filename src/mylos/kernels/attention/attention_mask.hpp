// The random numbers that drop attention's probabilities.
#pragma once

#include "mylos/kernels/attention/attention.hpp"
#include "mylos/kernels/pointwise/dropout_mask.hpp"

namespace mylos {

/// Returns the mask of all heads' scores, whose rows are (sample * heads + head) * length + i.
inline DropoutMask mask_of_scores(const AttentionShape& shape, Dropout dropout) {
  dropout.first_sample *= static_cast<std::uint64_t>(shape.heads * shape.length);
  return DropoutMask(dropout);
}

}  // namespace mylos
