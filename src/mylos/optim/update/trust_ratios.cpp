#include "mylos/optim/update/trust_ratios.hpp"

#include "mylos/base/alignment.hpp"
#include "mylos/base/device/device_array_views.hpp"
#include "mylos/base/device/each_index.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/optim/update/update_pass.hpp"

namespace mylos {
namespace {

std::size_t digits_of(const ParameterLayout& layout) {
  return layout.slots.size() * NormDigits::count;
}

/// Returns the number of digits to which the device threads of each block add.
std::size_t digits_of_blocks(const ParameterLayout& layout) {
  return runs_on_host ? 0 : UpdatePass::max_blocks(layout) * NormDigits::count;
}

template <class Digit>
KOKKOS_INLINE_FUNCTION ExactSum sum_of(const Digit* digits) {
  ExactSum sum;
  for (int i = 0; i < ExactSum::digit_count; ++i) sum.digits[i] = digits[i];
  return sum;
}

/// Writes digits that fit 32 bits when up to 2^15 ranks are summed.
KOKKOS_INLINE_FUNCTION void write_carried(const std::int64_t* digits, std::int32_t* carried) {
  ExactSum sum = sum_of(digits);
  sum.carry();
  for (int i = 0; i < ExactSum::digit_count; ++i) carried[i] = static_cast<std::int32_t>(sum.digits[i]);
}

KOKKOS_INLINE_FUNCTION float ratio_of(const std::int32_t* digits) {
  if (digits[NormDigits::not_finite] > 0) return Kokkos::Experimental::quiet_NaN_v<float>;
  const double weights = Kokkos::sqrt(sum_of(digits + NormDigits::weights).value());
  const double directions = Kokkos::sqrt(sum_of(digits + NormDigits::directions).value());
  if (weights == 0 || directions == 0) return 1.0f;
  constexpr double most = static_cast<double>(Kokkos::Experimental::finite_max_v<float>);
  return static_cast<float>(Kokkos::fmin(weights / directions, most));
}

}  // namespace

TrustRatios::TrustRatios(const ParameterLayout& layout)
    : sums_(make_device_array<std::int64_t>("sums of norms", digits_of(layout))),
      exchanged_(make_device_array<std::int32_t>("norms of all ranks", digits_of(layout))),
      ratios_(make_device_array<float>("trust ratios", layout.slots.size())) {
  if (digits_of_blocks(layout) > 0)
    block_digits_ = make_device_array<std::int32_t>("norms of blocks", digits_of_blocks(layout));
}

std::size_t TrustRatios::memory_bytes(const ParameterLayout& layout) {
  return digits_of(layout) * sizeof(std::int64_t) +
         view_bytes(digits_of_blocks(layout) * sizeof(std::int32_t)) + view_bytes(exchanged_bytes(layout)) +
         view_bytes(layout.slots.size() * sizeof(float));
}

std::size_t TrustRatios::exchanged_bytes(const ParameterLayout& layout) {
  return digits_of(layout) * sizeof(std::int32_t);
}

void TrustRatios::close_sums(const Execution& exec, const SlotRange& slots) const {
  std::int64_t* sums = sums_.data() + slots.first * NormDigits::count;
  std::int32_t* carried = exchanged_.data() + slots.first * NormDigits::count;
  for_each_block(
      exec, "norms", static_cast<std::int64_t>(slots.count), 1,
      KOKKOS_LAMBDA(const std::int64_t slot, const std::int64_t) {
        std::int64_t* own = sums + slot * NormDigits::count;
        std::int32_t* to = carried + slot * NormDigits::count;
        write_carried(own + NormDigits::weights, to + NormDigits::weights);
        write_carried(own + NormDigits::directions, to + NormDigits::directions);
        to[NormDigits::not_finite] = own[NormDigits::not_finite] > 0 ? 1 : 0;
        for (int i = 0; i < NormDigits::count; ++i) own[i] = 0;
      });
}

void TrustRatios::divide(const Execution& exec, const SlotRange& slots) const {
  const std::int32_t* digits = exchanged_.data() + slots.first * NormDigits::count;
  float* ratios = ratios_.data() + slots.first;
  for_each_block(
      exec, "trust ratios", static_cast<std::int64_t>(slots.count), 1,
      KOKKOS_LAMBDA(const std::int64_t slot, const std::int64_t) {
        ratios[slot] = ratio_of(digits + slot * NormDigits::count);
      });
}

}  // namespace mylos
