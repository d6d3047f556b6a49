// Networks to update, and decisions of a step about their update.
#pragma once

#include <cmath>

#include "mylos/base/execution.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/optim/update/optimizer.hpp"

namespace mylos::test {

inline Chain chain_of(std::vector<std::int64_t> hidden, std::int64_t inputs, std::int64_t outputs,
                      DType compute, GradientType gradient = GradientType::automatic) {
  ModelOptions model;
  model.hidden = std::move(hidden);
  model.norm = NormType::layernorm;
  model.inputs = inputs;
  model.outputs = outputs;
  PrecisionOptions precision;
  precision.compute = compute;
  precision.gradient = gradient;
  return make_mlp(model, precision, 1, false);
}

/// The exchange of a communicator between optimizers that each hold the part of one rank.
inline void exchange_norms(const Execution& exec, const std::vector<const Optimizer*>& ranks,
                           const UpdateControl* control) {
  std::vector<CommunicationBuffer> parts;
  for (const Optimizer* rank : ranks) parts.push_back(rank->measure(exec, control));
  if (parts[0].count == 0) return;
  exec.fence();
  const auto place_of = [](const CommunicationBuffer& part) {
    return Kokkos::View<std::int32_t*, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
        static_cast<std::int32_t*>(part.data), part.count);
  };
  std::vector<std::int32_t> sum(parts[0].count);
  for (const CommunicationBuffer& part : parts) {
    const auto own = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), place_of(part));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own(i);
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    Kokkos::deep_copy(place_of(parts[rank]),
                      Kokkos::View<std::int32_t*, Kokkos::HostSpace>(sum.data(), sum.size()));
    ranks[rank]->divide(exec);
  }
}

inline UpdateControl control_of(const OptimizerOptions& options, int time, float gradient_factor) {
  UpdateControl control;
  control.apply = 1;
  control.gradient_factor = gradient_factor;
  control.lr = static_cast<float>(options.lr);
  control.bias_correction1 = static_cast<float>(1 - std::pow(options.beta1, time));
  control.bias_correction2 = static_cast<float>(1 - std::pow(options.beta2, time));
  return control;
}

}  // namespace mylos::test
