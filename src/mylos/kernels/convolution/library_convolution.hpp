// The interface to a library of convolutions: one pass over some samples. The library reads and writes our
// layout, channels last; sums are float and rounded once.
//
// Nothing here includes Kokkos or the library (convolution_onednn.cpp and convolution_cudnn.cpp do).
// convolution_by_library.hpp decides which passes the library computes and converts values of other types.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "mylos/base/dtype.hpp"
#include "mylos/kernels/convolution/convolution_map.hpp"

struct CUstream_st;  // the target of a cudaStream_t

namespace mylos {

enum class ConvolutionPass {
  apply,    ///< to = map(from) + bias
  adjoint,  ///< from = the adjoint of the map, applied to `to`
  weights,  ///< the gradient of the weights, from `from` and the gradient of `to`
};

/// The description of a pass by shapes and types. Padding is zero padding.
struct LibraryPass {
  ConvolutionPass pass;
  ConvolutionMap map;
  std::int64_t samples = 1;
  DType type = DType::fp32;    ///< of all inputs
  DType result = DType::fp32;  ///< `type` or fp32; fp32 for the weights' gradient
  bool bias = false;           ///< if adds_bias(); of `type`
  bool relu = false;           ///< only `apply` by oneDNN: negative results become zero

  friend bool operator==(const LibraryPass&, const LibraryPass&) = default;
};

struct LibraryOperands {
  const void* first;   ///< from; for the adjoint, to
  const void* second;  ///< the weights; for their gradient, to
  void* result;
  const void* bias = nullptr;
  bool accumulate = false;        ///< for the weights' gradient if accumulates(): add to the old values
  CUstream_st* stream = nullptr;  ///< of a device's library
};

struct LibraryPassHash {
  std::size_t operator()(const LibraryPass& pass) const {
    auto hash = static_cast<std::size_t>(pass.samples);
    const auto mix = [&](auto value) {
      hash = (hash ^ static_cast<std::size_t>(value)) * 0x9E3779B97F4A7C15;
    };
    mix(pass.pass);
    mix(pass.type);
    mix(pass.map.from.channels);
    mix(pass.map.to.channels);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      mix(pass.map.from.extent[axis]);
      mix(pass.map.kernel[axis]);
      mix(pass.map.stride[axis]);
    }
    return hash ^ hash >> 32;
  }
};

/// A library of convolutions. It caches what it built for a pass: after the first run of a pass it allocates
/// nothing, and on a device it may be captured. One thread at a time may use it.
class LibraryConvolution {
 public:
  virtual ~LibraryConvolution() = default;

  /// Returns true if it multiplies the type by processor instructions.
  [[nodiscard]] virtual bool multiplies(DType type) const = 0;

  /// Returns true if the pass can add a bias.
  [[nodiscard]] virtual bool adds_bias(ConvolutionPass pass, DType type) const = 0;

  /// Returns true if it can add the weights' gradient to the old values.
  [[nodiscard]] virtual bool accumulates() const = 0;

  /// Returns true if only a run shows whether it supports a pass. Then GEMMs must be able to replace it.
  [[nodiscard]] virtual bool may_refuse() const = 0;

  /// Returns true if it computes the pass by Winograd convolution (convolution_winograd.hpp): with fewer
  /// products than the definition, and with the same bits for any number of threads.
  [[nodiscard]] virtual bool uses_winograd(const LibraryPass& pass) = 0;

  /// Returns how many of the samples one run processes, in the workspace for all; 0 if it has no fast code.
  [[nodiscard]] virtual std::int64_t samples_at_a_time(const LibraryPass& pass) = 0;

  /// Returns the bytes that suffice for runs of these samples and of fewer, with and without a bias. The
  /// workspace must be aligned like an Arena's tensors.
  [[nodiscard]] virtual std::size_t workspace_bytes(const LibraryPass& pass) = 0;

  /// Returns the host memory that the library allocates at the first run of the pass and keeps, apart from
  /// the workspace. If the library does not report it, this is an upper bound.
  [[nodiscard]] virtual std::size_t code_bytes(const LibraryPass& /*pass*/) { return 0; }

  /// Returns false if the library refuses the pass; only a library that may_refuse() does. The result may
  /// then be partially written. Throws Error if the library fails.
  [[nodiscard]] virtual bool run(const LibraryPass& pass, const LibraryOperands& operands,
                                 void* workspace) = 0;

  /// Returns what was refused since the last call, with the reasons, in lines for users; usually empty.
  [[nodiscard]] virtual std::string take_refusals() { return {}; }
};

/// Returns a library that computes each pass by Winograd convolution or by oneDNN, by a fixed rule. Only in
/// builds for hosts with oneDNN.
[[nodiscard]] std::unique_ptr<LibraryConvolution> make_host_convolution();

/// Returns null if the build has no oneDNN.
[[nodiscard]] std::unique_ptr<LibraryConvolution> make_onednn_convolution();

/// Returns null if the build or the machine has no cuDNN.
[[nodiscard]] std::unique_ptr<LibraryConvolution> make_cudnn_convolution();

}  // namespace mylos
