#include "mylos/kernels/attention/fused_attention_shape.hpp"

#include <algorithm>

namespace mylos::fused_attention {
namespace {

/// For the library's other needs; 256 bytes were observed.
constexpr std::int64_t scratch_bytes = 64 << 10;

}  // namespace

std::int64_t samples_at_a_time(const AttentionShape& shape, AttentionSums sums) {
  return std::min(shape.samples, max_workspace / bytes_of_sample(shape, sums));
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
