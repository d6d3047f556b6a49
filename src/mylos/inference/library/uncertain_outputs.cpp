#include "mylos/inference/library/uncertain_outputs.hpp"

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

void unscale_deviations(const Execution& exec, const ConstTensor& from, const ScalingTable& targets,
                        const Tensor& to) {
  const float* const deviation = from.as<float>();
  const double* const scale = targets.scale;
  const std::int64_t columns = from.columns();
  auto* const result = to.as<float>();
  for_each_element(
      exec, "unscale_sd", from.size(), KOKKOS_LAMBDA(std::int64_t i) {
        const auto value = static_cast<double>(deviation[i]);
        result[i] = static_cast<float>(scale == nullptr ? value : value / scale[i % columns]);
      });
}

}  // namespace mylos
