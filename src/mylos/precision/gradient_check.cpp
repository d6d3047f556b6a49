#include "mylos/precision/gradient_check.hpp"

#include <algorithm>

#include "mylos/base/device/device_array_views.hpp"
#include "mylos/base/device/each_index.hpp"
#include "mylos/base/device/region.hpp"

namespace mylos {
std::size_t GradientCheck::memory_bytes(std::span<const std::int64_t> lengths, bool exact) {
  return view_bytes(lengths.size() * sizeof(float)) + lengths.size() * sizeof(double) +
         (exact ? ExactSquares::memory_bytes(lengths) : SumsOfSquares::memory_bytes(lengths));
}

GradientCheck::GradientCheck(std::span<const Tensor> slices, std::span<const float> divisors, int rank,
                             std::optional<ExactSquares> exact)
    : divisors_(make_device_array<float>("gradient divisors", divisors.size())),
      sums_(make_device_array<double>("gradient squares", slices.size())),
      exact_(std::move(exact)),
      rank_(rank) {
  if (!exact_) squares_.emplace(slices);
  const auto on_device = view_of(divisors_);
  const auto on_host = Kokkos::create_mirror_view(on_device);
  std::copy(divisors.begin(), divisors.end(), on_host.data());
  Kokkos::deep_copy(on_device, on_host);
}

void GradientCheck::run(const Execution& exec, const float* scale, const AgreementBuffer& agreement) const {
  const Region region("check");
  if (exact_) {
    exact_->sum(exec, sums_.data());  // the sum of all buckets; the other sums stay 0
  } else {
    squares_->run(exec, sums_.data());
  }

  const auto sums = view_of(sums_);
  const auto divisors = view_of(divisors_);
  const std::int32_t own = rank_ + 1;
  AgreementFlags* flags = agreement.own_flags();
  AgreementSums* own_sums = agreement.own_sums();
  for_each_index(
      exec, "state check", 1, KOKKOS_LAMBDA(std::int64_t) {
        double squared = 0;
        for (std::size_t i = 0; i < sums.extent(0); ++i) {
          const double unit = static_cast<double>(*scale) * static_cast<double>(divisors(i));
          squared += sums(i) / (unit * unit);
        }
        const bool finite = Kokkos::isfinite(squared);
        flags->overflow = finite ? 0 : own;
        flags->set_scale(*scale);
        own_sums->squared_norm = finite ? squared : 0.0;
      });
}

}  // namespace mylos
