// Convolutions by cuDNN on NVIDIA devices. Only files of this folder and tests include this: everything else
// uses LibraryConvolution (cudnn_libraries.cpp).
#pragma once

#include <memory>
#include <string>

#include "mylos/device/cuda/engines/cudnn_device.hpp"
#include "mylos/kernels/convolution/library_pass.hpp"

struct CUstream_st;  // the target of a cudaStream_t

namespace mylos {

/// LibraryConvolution's functions of the same names. `run` enqueues the pass in a stream.
class CudnnConvolution {
 public:
  virtual ~CudnnConvolution() = default;
  [[nodiscard]] virtual bool adds_bias(ConvolutionPass pass, DType type) const = 0;
  [[nodiscard]] virtual std::int64_t samples_at_a_time(const LibraryPass& pass) const = 0;
  [[nodiscard]] virtual std::size_t workspace_bytes(const LibraryPass& pass) const = 0;
  [[nodiscard]] virtual bool run(CUstream_st* stream, const LibraryPass& pass,
                                 const LibraryOperands& operands, void* workspace) = 0;
  [[nodiscard]] virtual std::string take_refusals() = 0;
};

/// Requires cuDNN (cudnn_library.hpp).
[[nodiscard]] std::unique_ptr<CudnnConvolution> make_cudnn_convolution();

/// Returns the plan of cuDNN for a device that is not present, for tests.
[[nodiscard]] CudnnPlan plan_by_cudnn(const LibraryPass& pass, const CudnnDevice& device);

}  // namespace mylos
