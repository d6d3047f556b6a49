// Attention by cuDNN on NVIDIA devices. Only files of this folder and tests include this: everything else
// uses FusedAttention (cudnn_libraries.cpp).
#pragma once

#include <memory>
#include <string>

#include "mylos/device/cuda/engines/cudnn_device.hpp"
#include "mylos/kernels/attention/fused_attention_shape.hpp"

struct CUstream_st;  // the target of a cudaStream_t

namespace mylos {

/// FusedAttention's passes, enqueued in a stream.
class CudnnAttention {
 public:
  virtual ~CudnnAttention() = default;
  virtual bool forward(CUstream_st* stream, const AttentionShape& shape, const FusedForward& operands,
                       void* workspace) = 0;
  virtual bool backward(CUstream_st* stream, const AttentionShape& shape, const FusedBackward& operands,
                        void* workspace) = 0;
  [[nodiscard]] virtual std::string take_refusals() = 0;
};

/// Requires cuDNN (cudnn_library.hpp).
[[nodiscard]] std::unique_ptr<CudnnAttention> make_cudnn_attention(
    AttentionSums sums = AttentionSums::fixed_order);

enum class AttentionPass { forward, backward };

/// Returns the plan of cuDNN for a device that is not present, for tests.
[[nodiscard]] CudnnPlan plan_by_cudnn(const AttentionShape& shape, AttentionPass pass,
                                      const CudnnDevice& device,
                                      AttentionSums sums = AttentionSums::fixed_order);

}  // namespace mylos
