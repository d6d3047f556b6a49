// How a vendor's library computes attention: the workspace of a shape, and its operands. Formulas,
// matrices and log sums are those of attention.hpp.
//
// Nothing here includes Kokkos: the files of a vendor's library do not either.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mylos/kernels/attention/attention_shape.hpp"
#include "mylos/kernels/attention/fused_attention_support.hpp"
#include "mylos/kernels/options.hpp"

namespace mylos {

namespace fused_attention {

/// Return the bytes of workspace that suffice for a shape that may_support(), and for any with fewer samples.
/// They depend on the shape alone: if the library wants more, it is not used. The workspace must be aligned
/// to 256 bytes.
[[nodiscard]] std::size_t forward_workspace(const AttentionShape& shape);
[[nodiscard]] std::size_t backward_workspace(const AttentionShape& shape,
                                             AttentionSums sums = AttentionSums::fixed_order);

/// Returns the samples that one backward run processes, so that the workspace is bounded for any batch.
[[nodiscard]] std::int64_t samples_at_a_time(const AttentionShape& shape,
                                             AttentionSums sums = AttentionSums::fixed_order);

/// The distances, in values, between samples, heads, tokens and values of a head if the row of a token has
/// `columns` values. For the log sums, a head has one value per token.
using Strides = std::array<std::int64_t, 4>;
[[nodiscard]] Strides strides(const AttentionShape& shape, std::int64_t columns);
[[nodiscard]] Strides log_sum_strides(const AttentionShape& shape);

}  // namespace fused_attention

/// Device memory; every address must be a multiple of 16 bytes.
struct FusedForward {
  const void* qkv;
  void* output;
  float* log_sums;
};
struct FusedBackward {
  const void* qkv;
  const void* output;
  const float* log_sums;
  const void* d_output;
  void* d_qkv;
};

}  // namespace mylos
