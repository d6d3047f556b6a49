// TrustRatios: of each parameter |w| / |u|, the norms of its weights and of the direction in which Lamb moves
// them; 1 where one of them is 0.
//
// The same whichever rank holds which part of a parameter: squares of `neighbours` elements are added in
// double in one order, and these sums without rounding (exact_sum.hpp). So parts begin at multiples of as
// many elements of their parameter. Where masters are cut over ranks, what each rank measured is added up as
// integers.
#pragma once

#include "mylos/base/numbers/exact_sum.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/comm/ranks/slices.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"

namespace mylos {

/// Some of layout.slots that follow each other.
struct SlotRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Where the digits of a parameter's sums lie in a row of integers.
struct NormDigits {
  static constexpr int weights = 0;
  static constexpr int directions = ExactSum::digit_count;
  static constexpr int not_finite = 2 * ExactSum::digit_count;  // a count of sums of neighbours
  static constexpr int count = not_finite + 1;
};

class TrustRatios {
 public:
  static constexpr std::int64_t neighbours = slice_granularity;

  explicit TrustRatios(const ParameterLayout& layout);
  [[nodiscard]] static std::size_t memory_bytes(const ParameterLayout& layout);
  /// Of digits().
  [[nodiscard]] static std::size_t exchanged_bytes(const ParameterLayout& layout);

  /// Of layout.slots[slot], in device memory.
  [[nodiscard]] const float* ratio(std::size_t slot) const { return ratios_.data() + slot; }

  /// NormDigits of each slot, to which passes add what they measure. Zeros in between.
  [[nodiscard]] std::int64_t* sums() const { return sums_.data(); }
  /// Of each block of a pass the same, which the pass finds and leaves as zeros; null on hosts.
  [[nodiscard]] std::int32_t* places() const { return places_.data(); }

  /// The sums of `slots` become digits().
  void close_sums(const Execution& exec, const SlotRange& slots) const;
  /// What ranks add up where each measured a part of every parameter.
  [[nodiscard]] CommunicationBuffer digits() const {
    return {exchanged_.data(), exchanged_.size(), DType::int32};
  }
  /// The digits of `slots` become ratios.
  void divide(const Execution& exec, const SlotRange& slots) const;

 private:
  Kokkos::View<std::int64_t*, Device> sums_;
  Kokkos::View<std::int32_t*, Device> places_;
  Kokkos::View<std::int32_t*, Device> exchanged_;
  Kokkos::View<float*, Device> ratios_;
};

}  // namespace mylos
