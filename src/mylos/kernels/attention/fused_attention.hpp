// Attention as one kernel of a vendor's library, which never stores the probabilities. Formulas, matrices and
// log sums are those of attention.hpp.
//
// The library may refuse a shape or a device. Then another implementation computes the attention, so the
// caller must have the workspace of both. Nothing here includes Kokkos or the library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "mylos/kernels/attention/attention_shape.hpp"

struct CUstream_st;  // the target of a cudaStream_t

namespace mylos {

namespace fused_attention {

/// Returns true if the library may support the shape: 16-bit types, heads of a multiple of 8 and at most 128
/// values, samples of a multiple of 64 tokens, bounded workspace. Dropout is not supported; the caller checks
/// it.
[[nodiscard]] bool may_support(const AttentionShape& shape);

/// Return the bytes of workspace that suffice for a shape that may_support(), and for any with fewer samples.
/// They depend on the shape alone: if the library wants more, it is not used. The workspace must be aligned
/// to 256 bytes.
[[nodiscard]] std::size_t forward_workspace(const AttentionShape& shape);
[[nodiscard]] std::size_t backward_workspace(const AttentionShape& shape);

/// Returns the samples that one backward run processes, so that the workspace is bounded for any batch.
[[nodiscard]] std::int64_t samples_at_a_time(const AttentionShape& shape);

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

/// A library's attention kernels. It caches what the library built for a shape: the first run of a shape
/// takes seconds, allocates, and may load code onto the device; later runs only launch and may be captured.
/// The same operands give the same bits. One thread at a time may use it, with one device.
class FusedAttention {
 public:
  virtual ~FusedAttention() = default;

  /// Enqueues the pass in `stream`. Returns false if the library refuses; the results may then be partially
  /// written. A shape that was refused once is always refused.
  virtual bool forward(CUstream_st* stream, const AttentionShape& shape, const FusedForward& operands,
                       void* workspace) = 0;
  virtual bool backward(CUstream_st* stream, const AttentionShape& shape, const FusedBackward& operands,
                        void* workspace) = 0;

  /// Returns what was refused since the last call, with the reasons, in lines for users; usually empty.
  [[nodiscard]] virtual std::string take_refusals() = 0;
};

/// The order in which a backward pass adds its sums. `any_order` may be faster, but the same operands may
/// give different bits each time; networks never use it.
enum class AttentionSums { fixed_order, any_order };

/// Returns null if the build or the machine has no such library.
[[nodiscard]] std::unique_ptr<FusedAttention> make_fused_attention(
    AttentionSums sums = AttentionSums::fixed_order);

/// Returns a text for --version: "cuDNN 9.19.0", or what is missing.
[[nodiscard]] std::string describe_fused_attention();

}  // namespace mylos
