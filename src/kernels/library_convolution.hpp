// Convolutions as a library computes them that has them as such: one pass over some samples of float or
// bfloat16. What it reads and writes lies as ours does, channels last; sums are float and rounded once.
//
// Nothing here includes the library (convolution_onednn.cpp does). Which passes go to it, and how values of
// other types get there: convolution_by_library.hpp.
#pragma once

#include <cstddef>
#include <memory>

#include "convolution_map.hpp"
#include "mylos/base/dtype.hpp"

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
  bool bias = false;           ///< of `apply` alone
  bool relu = false;           ///< likewise: negative results become zero

  friend bool operator==(const LibraryPass&, const LibraryPass&) = default;
};

struct LibraryOperands {
  const void* first;   ///< from; of the adjoint, to
  const void* second;  ///< the weights; of their gradient, to
  void* result;
  const void* bias = nullptr;
  bool accumulate = false;  ///< of the weights' gradient: it is added to what is there
};

/// Keeps what the library made for a pass: after the first run of one it allocates nothing. Used by one
/// thread at a time.
class LibraryConvolution {
 public:
  virtual ~LibraryConvolution() = default;

  /// Whether it multiplies the type by the processor's own instructions.
  [[nodiscard]] virtual bool multiplies(DType type) const = 0;

  /// How many of the samples one run takes, in workspace for all; 0: the library has no fast code for it.
  [[nodiscard]] virtual std::int64_t samples_at_a_time(const LibraryPass& pass) = 0;

  /// Bytes that are enough for the runs of these samples and of fewer, with a bias and without; aligned as an
  /// Arena aligns.
  [[nodiscard]] virtual std::size_t workspace_bytes(const LibraryPass& pass) = 0;

  /// Throws Error when the library fails.
  virtual void run(const LibraryPass& pass, const LibraryOperands& operands, void* workspace) = 0;
};

/// Null where this build has no oneDNN.
[[nodiscard]] std::unique_ptr<LibraryConvolution> make_onednn_convolution();

}  // namespace mylos
