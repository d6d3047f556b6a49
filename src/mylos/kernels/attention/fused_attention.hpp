// Attention as one kernel of a vendor's library, which never stores the probabilities. Formulas, matrices and
// log sums are those of attention.hpp.
//
// The library may refuse a shape or a device. Then another implementation computes the attention, so the
// caller must have the workspace of both.
#pragma once

#include <string>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/kernels/attention/fused_attention_shape.hpp"

namespace mylos {

/// A library's attention kernels. It caches what the library built for a shape: the first run of a shape
/// takes seconds, allocates, and may load code onto the device; later runs only launch and may be captured.
/// The same operands give the same bits, except in any order of additions. One thread at a time may use it,
/// with one device.
class FusedAttention {
 public:
  virtual ~FusedAttention() = default;

  /// Returns the library and its version: "cuDNN 9.19.0".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Returns the order in which backward() adds.
  [[nodiscard]] virtual AttentionSums sums() const = 0;

  /// Enqueues the pass on `exec`. Returns false if the library refuses; the results may then be partially
  /// written. A shape that was refused once is always refused.
  virtual bool forward(const Execution& exec, const AttentionShape& shape, const FusedForward& operands,
                       void* workspace) = 0;
  virtual bool backward(const Execution& exec, const AttentionShape& shape, const FusedBackward& operands,
                        void* workspace) = 0;

  /// Returns what was refused since the last call, with the reasons, in lines for users; usually empty.
  [[nodiscard]] virtual std::string take_refusals() = 0;
};

}  // namespace mylos
