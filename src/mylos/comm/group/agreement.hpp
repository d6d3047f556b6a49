// The agreement of one step: what every rank must know before any rank updates, in one grouped exchange.
//
// Each rank states flags and partial sums; Communicator::agree reduces the flags by one integer allreduce
// (MAX), gathers the partial sums, and adds them up by the binary tree over ranks, so that every rank ends
// with the same decision, bit for bit. (Integers, because a float MAX drops NaN.) All of it stays in device
// memory.
#pragma once

#include <cstdint>

#include "mylos/base/execution.hpp"

namespace mylos {

class Communicator;

/// What is reduced by MAX.
struct AgreementFlags {
  std::int32_t overflow = 0;  // this rank + 1 if one of its gradients is not finite, else 0
  std::int32_t stop = 0;      // this rank + 1 if it was asked to stop, else 0
  std::int32_t error = 0;     // this rank + 1 if it cannot go on, else 0
  std::int32_t scale_bits = 0;
  std::int32_t scale_complement = -1;  // ~scale_bits: MAX of both shows whether any two ranks differ

  /// States the loss scale (positive: so its bits are ordered like integers).
  KOKKOS_INLINE_FUNCTION void set_scale(float scale) {
    scale_bits = Kokkos::bit_cast<std::int32_t>(scale);
    scale_complement = ~scale_bits;
  }
};

/// What is summed over ranks in double, by the binary tree.
struct AgreementSums {
  double squared_norm = 0;  // of (gradient / scale) over this rank's own slice
  double samples = 0;       // that this rank put into the step
  double loss = 0;          // sum of their losses
};

/// What all ranks agreed on. Each of the first three is the highest rank concerned + 1, or 0.
struct AgreementResult {
  std::int32_t overflow = 0;
  std::int32_t stop = 0;
  std::int32_t error = 0;
  std::int32_t scales_differ = 0;  // fatal: see check_scales
  std::int32_t skip = 0;           // 1 if any of overflow, error, scales_differ: the update must not happen
  AgreementSums sums;
};

/// Device memory of the agreement. Each rank writes own_flags() and own_sums() in kernels (or on the host
/// where the memory is the host's), calls Communicator::agree, and reads result() in kernels.
class AgreementBuffer {
 public:
  AgreementBuffer(int rank, int ranks);
  /// What such a buffer takes.
  [[nodiscard]] static std::size_t memory_bytes(int ranks);

  [[nodiscard]] AgreementFlags* own_flags() const { return own_flags_.data(); }
  [[nodiscard]] AgreementSums* own_sums() const { return sums_.data() + rank_; }
  [[nodiscard]] AgreementResult* result() const { return result_.data(); }

  // For communicators: the reduced flags, and the sums of all ranks in rank order.
  [[nodiscard]] AgreementFlags* reduced_flags() const { return reduced_flags_.data(); }
  [[nodiscard]] AgreementSums* all_sums() const { return sums_.data(); }
  [[nodiscard]] std::int32_t* scale_bits_of_ranks() const { return scale_bits_.data(); }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(sums_.extent(0)); }

  /// Reduced flags (one rank: its own) and all sums -> result, on the device.
  void fold(const Execution& execution) const;
  /// The result on the host. On a device this waits for the device: for log points and error paths.
  [[nodiscard]] AgreementResult read(const Execution& execution) const;

 private:
  int rank_;
  Kokkos::View<AgreementFlags, Device> own_flags_;
  Kokkos::View<AgreementFlags, Device> reduced_flags_;
  Kokkos::View<AgreementSums*, Device> sums_;
  Kokkos::View<std::int32_t*, Device> scale_bits_;
  Kokkos::View<AgreementResult, Device> result_;
};

/// All ranks, after an agreement. If their loss scales differ: finds two that do by a second exchange and
/// throws, on every rank, the Error that names both. The owner of the step calls it where a step has halted:
/// agree() does not, since a device would have to be waited for.
void check_scales(const Execution& execution, Communicator& communicator, const AgreementBuffer& buffer);

}  // namespace mylos
