// Whether a vendor's library may support a shape of attention. A deck is checked by the same rule as the
// kernels, so that all of it is in this header. Nothing here includes Kokkos.
#pragma once

#include <cstdint>

#include "mylos/kernels/attention/attention_shape.hpp"
#include "mylos/kernels/options.hpp"

namespace mylos::fused_attention {

/// The tile size in tokens. With complete tiles the log sums take a multiple of 256 bytes, which preserves
/// the alignment of what follows them in the workspace.
inline constexpr std::int64_t tile_tokens = 64;

inline constexpr std::int64_t max_head_width = 128;     // all devices since Ampere, forward and backward
inline constexpr std::int64_t max_workspace = 1 << 30;  // of the samples that one backward run processes

[[nodiscard]] constexpr std::int64_t round_up(std::int64_t count, std::int64_t to) {
  return (count + to - 1) / to * to;
}

/// Returns the workspace of one sample. With a fixed order of additions, backward stores the complete
/// gradients of the scores: in 16 bits, in tiles of 64 x 128 (cuDNN frontend 1.32, "dP workspace"). It also
/// stores a float per row, the product of output and its gradient. In any order, floats of the queries'
/// gradients replace the scores ("dQ accumulator"): one for each element, before Hopper two.
[[nodiscard]] constexpr std::int64_t bytes_of_sample(const AttentionShape& shape, AttentionSums sums) {
  const std::int64_t gradients = sums == AttentionSums::fixed_order
                                     ? round_up(shape.length, 64) * round_up(shape.length, 128) * 2
                                     : shape.length * shape.head_width * 8;
  return shape.heads * (gradients + shape.length * 4);
}

/// Returns true if the library may support the shape: causal, 16-bit types, heads of a multiple of 8 and at
/// most 128 values, samples of a multiple of 64 tokens, bounded workspace. Dropout is not supported; the
/// caller checks it. With AttentionSums::any_order the workspace is smaller, and samples may be longer.
[[nodiscard]] constexpr bool may_support(const AttentionShape& shape,
                                         AttentionSums sums = AttentionSums::fixed_order) {
  return shape.causal && (shape.type == DType::fp16 || shape.type == DType::bf16) &&
         shape.head_width % 8 == 0 && shape.head_width <= max_head_width && shape.length >= tile_tokens &&
         shape.length % tile_tokens == 0 && shape.samples >= 1 &&
         bytes_of_sample(shape, sums) <= max_workspace;
}

}  // namespace mylos::fused_attention
