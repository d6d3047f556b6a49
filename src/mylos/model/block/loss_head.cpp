#include "mylos/model/block/loss_head.hpp"

#include <algorithm>
#include <cmath>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/model/layers.hpp"

namespace mylos {

ConstTensor LossHead::deviations_of(const StepContext& /*context*/, const LossMemory& /*memory*/) const {
  fail_run(errors::internal, "the loss \"{}\" has no standard deviations", loss().name);
}

ConstTensor LossHead::quantile_of(const StepContext& /*context*/, const LossMemory& /*memory*/,
                                  std::size_t /*level*/) const {
  fail_run(errors::internal, "the loss \"{}\" has no quantiles", loss().name);
}

std::size_t central_quantile(std::span<const double> levels) {
  const auto nearest = std::min_element(
      levels.begin(), levels.end(), [](double a, double b) { return std::abs(a - 0.5) < std::abs(b - 0.5); });
  return static_cast<std::size_t>(nearest - levels.begin());
}

}  // namespace mylos
