#include "mylos/inference/library/output_bounds.hpp"

#include "mylos/inference/arrays/scaling_arrays.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

BoundTables::BoundTables(const std::optional<ConformalCalibration>& calibration)
    : arena_("quantiles", memory_bytes(calibration)) {
  if (!calibration) return;
  Pieces pieces(arena_.data());
  quantiles_ = copied_for_kernels(calibration->quantiles, pieces);
  count_ = static_cast<std::int64_t>(calibration->quantiles.size());
  is_scaled_ = calibration->score == ConformalScore::scaled;
}

std::size_t BoundTables::memory_bytes(const std::optional<ConformalCalibration>& calibration) {
  Pieces pieces(nullptr);
  if (calibration) pieces.take<double>(static_cast<std::int64_t>(calibration->quantiles.size()));
  return pieces.bytes();
}

void BoundTables::write(const Execution& exec, Side side, const Tensor& means, const Tensor& deviations,
                        const Tensor& bounds) const {
  const double sign = side == Side::lower ? -1 : 1;
  const double* const quantiles = quantiles_;
  const std::int64_t count = count_;
  const float* const mean = means.as<float>();
  const float* const deviation = is_scaled_ ? deviations.as<float>() : nullptr;
  auto* const bound = bounds.as<float>();
  for_each_element(
      exec, "bounds", means.size(), KOKKOS_LAMBDA(std::int64_t i) {
        const double scale = deviation == nullptr ? 1 : static_cast<double>(deviation[i]);
        bound[i] = static_cast<float>(static_cast<double>(mean[i]) + sign * (quantiles[i % count] * scale));
      });
}

}  // namespace mylos
