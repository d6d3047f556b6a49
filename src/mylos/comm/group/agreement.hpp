// The agreement of one step: every rank learns the same decision in one grouped exchange, before any rank
// updates its weights.
//
// Each rank contributes flags and partial sums. Communicator::agree reduces the flags with one integer
// allreduce (MAX), gathers the partial sums, and adds them by the binary tree over ranks. Every rank obtains
// the same decision, bit for bit. (The flags are integers because a float MAX drops NaN.) All data stays in
// device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/device/device_array.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/kokkos_names.hpp"

namespace mylos {

class Communicator;

/// Flags of one rank, reduced by MAX.
struct AgreementFlags {
  std::int32_t overflow = 0;  // this rank + 1 if one of its gradients is not finite, else 0
  std::int32_t stop = 0;      // this rank + 1 if it was asked to stop, else 0
  std::int32_t error = 0;     // this rank + 1 if it cannot continue, else 0
  std::int32_t scale_bits = 0;
  std::int32_t scale_complement = -1;  // ~scale_bits: MAX of both shows whether any two ranks differ
  std::int32_t call_bits = 0;          // of the call that ends the step, with its arguments
  std::int32_t call_complement = -1;   // as scale_complement

  /// Stores the loss scale. It is positive, so its bits have the order of integers.
  KOKKOS_INLINE_FUNCTION void set_scale(float scale) {
    scale_bits = Kokkos::bit_cast<std::int32_t>(scale);
    scale_complement = ~scale_bits;
  }
  /// Stores a number that must be the same on all ranks.
  KOKKOS_INLINE_FUNCTION void set_call(std::int32_t bits) {
    call_bits = bits;
    call_complement = ~bits;
  }
};

/// Sums of one rank, added over ranks in double by the binary tree.
struct AgreementSums {
  double squared_norm = 0;  // of (gradient / scale) over this rank's own slice
  double samples = 0;       // samples of this rank in the step
  double loss = 0;          // sum of their losses
};

/// The agreed result. Each of the first three members is the highest rank concerned + 1, or 0.
struct AgreementResult {
  std::int32_t overflow = 0;
  std::int32_t stop = 0;
  std::int32_t error = 0;
  std::int32_t scales_differ = 0;  // fatal: see check_scales
  std::int32_t calls_differ = 0;   // the ranks end the step by different calls
  std::int32_t skip = 0;           // 1 if any of the above except stop: the update must not happen
  AgreementSums sums;
};

/// Device memory of the agreement. Each rank writes own_flags() and own_sums() in kernels (or on the host if
/// the memory is host memory), calls Communicator::agree, and reads result() in kernels.
class AgreementBuffer {
 public:
  AgreementBuffer(int rank, int ranks);
  /// Returns the bytes of a buffer for `ranks` ranks.
  [[nodiscard]] static std::size_t memory_bytes(int ranks);

  [[nodiscard]] AgreementFlags* own_flags() const { return own_flags_.data(); }
  [[nodiscard]] AgreementSums* own_sums() const { return sums_.data() + rank_; }
  [[nodiscard]] AgreementResult* result() const { return result_.data(); }

  // For communicators: the reduced flags, and the sums of all ranks in rank order.
  [[nodiscard]] AgreementFlags* reduced_flags() const { return reduced_flags_.data(); }
  [[nodiscard]] AgreementSums* all_sums() const { return sums_.data(); }
  [[nodiscard]] std::int32_t* scale_bits_of_ranks() const { return scale_bits_.data(); }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(sums_.size()); }

  /// Computes the result on the device from the reduced flags (with one rank: its own flags) and all sums.
  void fold(const Execution& execution) const;
  /// Returns the result on the host. On a device this waits for the device: use it at log points and on error
  /// paths only.
  [[nodiscard]] AgreementResult read(const Execution& execution) const;

 private:
  int rank_;
  DeviceArray<AgreementFlags> own_flags_;
  DeviceArray<AgreementFlags> reduced_flags_;
  DeviceArray<AgreementSums> sums_;
  DeviceArray<std::int32_t> scale_bits_;
  DeviceArray<AgreementResult> result_;
};

/// Called by all ranks after an agreement. If the loss scales differ, a second exchange finds two ranks that
/// differ, and every rank throws the Error that names both. agree() does not do this because it would have to
/// wait for the device; the trainer calls check_scales() when a step has halted.
void check_scales(const Execution& execution, Communicator& communicator, const AgreementBuffer& buffer);

}  // namespace mylos
