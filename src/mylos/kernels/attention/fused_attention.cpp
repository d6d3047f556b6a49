#include "mylos/kernels/attention/fused_attention.hpp"

#include <algorithm>

namespace mylos::fused_attention {
namespace {

/// Tokens. Of whole tiles the log sums take a multiple of 256 bytes, so that what lies behind as many floats
/// in the workspace does too.
constexpr std::int64_t tile = 64;

constexpr std::int64_t widest_head = 128;    // of all devices from Ampere on, forward and backward
constexpr std::int64_t max_bytes = 1 << 30;  // of the samples whose backward pass runs together

/// What the library takes for itself besides; 256 bytes were seen.
constexpr std::int64_t scratch_bytes = 64 << 10;

constexpr std::int64_t rounded_up(std::int64_t count, std::int64_t to) {
  return (count + to - 1) / to * to;
}

/// In a fixed order of additions, backward needs the scores' gradients whole: in 16 bits, by tiles of 64 x
/// 128 (cuDNN frontend 1.32, "dP workspace"). And a float for each row: the product of output and its
/// gradient.
std::int64_t bytes_of_sample(const AttentionShape& shape) {
  return shape.heads * (rounded_up(shape.length, 64) * rounded_up(shape.length, 128) * 2 + shape.length * 4);
}

}  // namespace

bool may_serve(const AttentionShape& shape) {
  return (shape.type == DType::fp16 || shape.type == DType::bf16) && shape.head_width % 8 == 0 &&
         shape.head_width <= widest_head && shape.length >= tile && shape.length % tile == 0 &&
         shape.samples >= 1 && bytes_of_sample(shape) <= max_bytes;
}

std::int64_t samples_at_a_time(const AttentionShape& shape) {
  return std::min(shape.samples, max_bytes / bytes_of_sample(shape));
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

std::size_t backward_workspace(const AttentionShape& shape) {
  return static_cast<std::size_t>(samples_at_a_time(shape) * bytes_of_sample(shape) + scratch_bytes);
}

}  // namespace mylos::fused_attention
