// Convolutions as a library computes them that has them as such: one pass over some samples. What it reads
// and writes lies as ours does, channels last; sums are float and rounded once.
//
// Nothing here includes Kokkos or the library (convolution_onednn.cpp and convolution_cudnn.cpp do). Which
// passes go to it, and how values of other types get there: convolution_by_library.hpp.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "mylos/base/dtype.hpp"
#include "mylos/kernels/convolution/convolution_map.hpp"

struct CUstream_st;  // what a cudaStream_t points to

namespace mylos {

enum class ConvolutionPass {
  apply,    ///< to = map(from) + bias
  adjoint,  ///< from = the adjoint of map, of to
  weights,  ///< the gradient of the weights, from `from` and the gradient of `to`
};

/// One pass, from shapes and types alone. Padding is with zeros.
struct LibraryPass {
  ConvolutionPass pass;
  ConvolutionMap map;
  std::int64_t samples = 1;
  DType type = DType::fp32;    ///< of all that is read
  DType result = DType::fp32;  ///< `type` or fp32; of the weights' gradient fp32
  bool bias = false;           ///< of what adds_bias(); of `type`
  bool relu = false;           ///< of `apply` by oneDNN alone: negative results become zero

  friend bool operator==(const LibraryPass&, const LibraryPass&) = default;
};

struct LibraryOperands {
  const void* first;   ///< from; of the adjoint, to
  const void* second;  ///< the weights; of their gradient, to
  void* result;
  const void* bias = nullptr;
  bool accumulate =
      false;  ///< of the weights' gradient, where it accumulates(): it is added to what is there
  CUstream_st* stream = nullptr;  ///< that a device's library enqueues the pass in
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

/// Keeps what the library made for a pass: after the first run of one it allocates nothing, and on a device
/// may be captured. Used by one thread at a time.
class LibraryConvolution {
 public:
  virtual ~LibraryConvolution() = default;

  /// Whether it multiplies the type by the processor's own instructions.
  [[nodiscard]] virtual bool multiplies(DType type) const = 0;

  /// Whether such a pass can add a bias.
  [[nodiscard]] virtual bool adds_bias(ConvolutionPass pass, DType type) const = 0;

  /// Whether it can add the weights' gradient to what is there.
  [[nodiscard]] virtual bool accumulates() const = 0;

  /// Whether only a run tells that it takes a pass: then products must be able to take its place.
  [[nodiscard]] virtual bool may_refuse() const = 0;

  /// Whether it computes such a pass by minimal filtering (convolution_winograd.hpp): in fewer products than
  /// the definition has, and with the same bits for any number of threads.
  [[nodiscard]] virtual bool uses_winograd(const LibraryPass& pass) = 0;

  /// How many of the samples one run takes, in workspace for all; 0: the library has no fast code for it.
  [[nodiscard]] virtual std::int64_t samples_at_a_time(const LibraryPass& pass) = 0;

  /// Bytes that are enough for the runs of these samples and of fewer, with a bias and without; aligned as an
  /// Arena aligns.
  [[nodiscard]] virtual std::size_t workspace_bytes(const LibraryPass& pass) = 0;

  /// Host memory that the library allocates for the pass at its first run and keeps, besides the workspace: a
  /// bound where the library does not report it.
  [[nodiscard]] virtual std::size_t code_bytes(const LibraryPass& /*pass*/) { return 0; }

  /// False where the library refuses, as only one that may_refuse() does; some of the result may have been
  /// written then. Throws Error when the library fails.
  [[nodiscard]] virtual bool run(const LibraryPass& pass, const LibraryOperands& operands,
                                 void* workspace) = 0;

  /// What was refused since this was last asked, and why, in lines for people; mostly empty.
  [[nodiscard]] virtual std::string take_refusals() { return {}; }
};

/// Each pass by minimal filtering or by oneDNN, by a rule. Of builds for hosts with oneDNN alone.
[[nodiscard]] std::unique_ptr<LibraryConvolution> make_host_convolution();

/// Null where this build has no oneDNN.
[[nodiscard]] std::unique_ptr<LibraryConvolution> make_onednn_convolution();

/// Null where this build or this machine has no cuDNN.
[[nodiscard]] std::unique_ptr<LibraryConvolution> make_cudnn_convolution();

}  // namespace mylos
