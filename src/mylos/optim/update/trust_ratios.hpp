// TrustRatios: |w| / |u| of each parameter, with the norms of its weights and of Lamb's update direction; 1
// if one of them is 0.
//
// The ratios do not depend on the distribution of a parameter over ranks: squares of `neighbours` elements
// are added in double in one order, and these sums without rounding (exact_sum.hpp). Parts therefore begin at
// multiples of `neighbours` elements of their parameter. If masters are sharded, the ranks' sums are added as
// integers.
#pragma once

#include "mylos/base/device/device_array.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/numbers/exact_sum.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/comm/ranks/slices.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"

namespace mylos {

/// A range of consecutive layout.slots.
struct SlotRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Offsets of a parameter's digits in a row of integers.
struct NormDigits {
  static constexpr int weights = 0;
  static constexpr int directions = ExactSum::digit_count;
  static constexpr int not_finite = 2 * ExactSum::digit_count;  // count of neighbour sums that are not finite
  static constexpr int count = not_finite + 1;
};

class TrustRatios {
 public:
  static constexpr std::int64_t neighbours = slice_granularity;

  explicit TrustRatios(const ParameterLayout& layout);
  [[nodiscard]] static std::size_t memory_bytes(const ParameterLayout& layout);
  /// Returns the bytes of digits().
  [[nodiscard]] static std::size_t exchanged_bytes(const ParameterLayout& layout);

  /// Returns the ratio of layout.slots[slot], in device memory.
  [[nodiscard]] const float* ratio(std::size_t slot) const { return ratios_.data() + slot; }

  /// Returns the NormDigits of each slot, to which passes add their sums. They are zero between passes.
  [[nodiscard]] std::int64_t* sums() const { return sums_.data(); }
  /// Returns the NormDigits of each block of a pass, which are zero before and after the pass; null on hosts.
  [[nodiscard]] std::int32_t* block_digits() const { return block_digits_.data(); }

  /// Converts the sums of `slots` to digits().
  void close_sums(const Execution& exec, const SlotRange& slots) const;
  /// Returns the buffer that ranks sum if each has measured a part of every parameter.
  [[nodiscard]] CommunicationBuffer digits() const {
    return {exchanged_.data(), exchanged_.size(), DType::int32};
  }
  /// Computes the ratios of `slots` from their digits.
  void divide(const Execution& exec, const SlotRange& slots) const;

 private:
  DeviceArray<std::int64_t> sums_;
  DeviceArray<std::int32_t> block_digits_;
  DeviceArray<std::int32_t> exchanged_;
  DeviceArray<float> ratios_;
};

}  // namespace mylos
