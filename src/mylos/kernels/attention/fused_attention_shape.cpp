#include "mylos/kernels/attention/fused_attention_shape.hpp"

#include <algorithm>

namespace mylos::fused_attention {
namespace {

/// The tile size in tokens. With complete tiles the log sums take a multiple of 256 bytes, which preserves
/// the alignment of what follows them in the workspace.
constexpr std::int64_t tile = 64;

constexpr std::int64_t max_head_width = 128;  // all devices since Ampere, forward and backward
constexpr std::int64_t max_bytes = 1 << 30;   // of the samples that one backward run processes

/// For the library's other needs; 256 bytes were observed.
constexpr std::int64_t scratch_bytes = 64 << 10;

constexpr std::int64_t round_up(std::int64_t count, std::int64_t to) {
  return (count + to - 1) / to * to;
}

/// Returns the workspace of one sample. With a fixed order of additions, backward stores the complete
/// gradients of the scores: in 16 bits, in tiles of 64 x 128 (cuDNN frontend 1.32, "dP workspace"). It also
/// stores a float per row, the product of output and its gradient. In any order, floats of the queries'
/// gradients replace the scores ("dQ accumulator"): one for each element, before Hopper two.
std::int64_t bytes_of_sample(const AttentionShape& shape, AttentionSums sums) {
  const std::int64_t gradients = sums == AttentionSums::fixed_order
                                     ? round_up(shape.length, 64) * round_up(shape.length, 128) * 2
                                     : shape.length * shape.head_width * 8;
  return shape.heads * (gradients + shape.length * 4);
}

}  // namespace

bool may_support(const AttentionShape& shape, AttentionSums sums) {
  return (shape.type == DType::fp16 || shape.type == DType::bf16) && shape.head_width % 8 == 0 &&
         shape.head_width <= max_head_width && shape.length >= tile && shape.length % tile == 0 &&
         shape.samples >= 1 && bytes_of_sample(shape, sums) <= max_bytes;
}

std::int64_t samples_at_a_time(const AttentionShape& shape, AttentionSums sums) {
  return std::min(shape.samples, max_bytes / bytes_of_sample(shape, sums));
}

Strides strides(const AttentionShape& shape, std::int64_t columns) {
  return {shape.length * columns, shape.head_width, columns, 1};
}

Strides log_sum_strides(const AttentionShape& shape) {
  return {shape.heads * shape.length, shape.length, 1, 1};
}

std::size_t forward_workspace(const AttentionShape& /*shape*/) {
  return scratch_bytes;
}

std::size_t backward_workspace(const AttentionShape& shape, AttentionSums sums) {
  return static_cast<std::size_t>(samples_at_a_time(shape, sums) * bytes_of_sample(shape, sums) +
                                  scratch_bytes);
}

}  // namespace mylos::fused_attention
