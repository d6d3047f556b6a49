// Attention as one kernel of a vendor's library, which never writes the probabilities down. Formulas,
// matrices and log sums are those of attention.hpp.
//
// The library may refuse a shape or a device. Then another way computes the attention, so a caller has the
// workspace of both. Nothing here includes Kokkos or the library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "mylos/kernels/attention/attention_shape.hpp"

struct CUstream_st;  // what a cudaStream_t points to

namespace mylos {

namespace fused_attention {

/// Whether the library is asked at all: 16-bit types, heads of a multiple of 8 and at most 128 values,
/// samples of a multiple of 64 tokens whose workspace is bounded. Without dropout, which is the caller's to
/// know.
[[nodiscard]] bool may_serve(const AttentionShape& shape);

/// Bytes of workspace that are enough for a shape that may_serve(), and for every one of fewer samples. From
/// the shape alone: what a library wants beyond them is refused. At a multiple of 256 bytes.
[[nodiscard]] std::size_t forward_workspace(const AttentionShape& shape);
[[nodiscard]] std::size_t backward_workspace(const AttentionShape& shape);

/// Samples whose backward pass runs together, so that the workspace stays bounded whatever the batch.
[[nodiscard]] std::int64_t samples_at_a_time(const AttentionShape& shape);

/// How many values lie from one sample, head, token and value of a head to the next, where a token's row has
/// `columns` values; and the same of the log sums, of which a head has one for each token.
using Strides = std::array<std::int64_t, 4>;
[[nodiscard]] Strides strides(const AttentionShape& shape, std::int64_t columns);
[[nodiscard]] Strides log_sum_strides(const AttentionShape& shape);

}  // namespace fused_attention

/// Device memory; every address at a multiple of 16 bytes.
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

/// Keeps what the library built for a shape: the first run of one takes seconds, allocates, and may load code
/// onto the device; later ones only launch, and may be captured. The same operands give the same bits. Used
/// by one thread at a time, with one device.
class FusedAttention {
 public:
  virtual ~FusedAttention() = default;

  /// Enqueues the pass in `stream`. False where the library refuses; some of the results may have been
  /// written then. A shape that it has refused once is refused at once from then on.
  virtual bool forward(CUstream_st* stream, const AttentionShape& shape, const FusedForward& operands,
                       void* workspace) = 0;
  virtual bool backward(CUstream_st* stream, const AttentionShape& shape, const FusedBackward& operands,
                        void* workspace) = 0;

  /// What was refused since this was last asked, and why, in lines for people; mostly empty.
  [[nodiscard]] virtual std::string take_refusals() = 0;
};

/// The order in which a backward pass adds its sums. In any order it may be faster, and the same operands may
/// give other bits each time: networks never ask for that.
enum class AttentionSums { fixed_order, any_order };

/// Null where this build or this machine has no such library.
[[nodiscard]] std::unique_ptr<FusedAttention> make_fused_attention(
    AttentionSums sums = AttentionSums::fixed_order);

/// For --version: "cuDNN 9.19.0", or what is missing.
[[nodiscard]] std::string describe_fused_attention();

}  // namespace mylos
