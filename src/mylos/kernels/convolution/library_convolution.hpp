// The interface to a library of convolutions. convolution_by_library.hpp decides which passes the library
// computes and converts values of other types.
#pragma once

#include <string>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/kernels/convolution/library_pass.hpp"

namespace mylos {

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

  /// Enqueues the pass on `exec`. Returns false if the library refuses it; only a library that may_refuse()
  /// does. The result may then be partially written. Throws Error if the library fails.
  [[nodiscard]] virtual bool run(const Execution& exec, const LibraryPass& pass,
                                 const LibraryOperands& operands, void* workspace) = 0;

  /// Returns what was refused since the last call, with the reasons, in lines for users; usually empty.
  [[nodiscard]] virtual std::string take_refusals() { return {}; }
};

}  // namespace mylos
