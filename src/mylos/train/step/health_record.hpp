// HealthRecord: statistics of every parameter at one step, and which parameters are watched.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "mylos/optim/update/parameter_health.hpp"

namespace mylos {

struct HealthRecord {
  std::uint64_t step = 0;
  std::vector<ParameterHealth> parameters;  // by slot
};

struct WatchedParameter {
  std::string path;  // "hidden1/weight"
  bool is_matrix = false;
};

[[nodiscard]] inline double gradient_norm(const ParameterHealth& health) {
  return std::sqrt(health.gradient_squares);
}
[[nodiscard]] inline double weight_norm(const ParameterHealth& health) {
  return std::sqrt(health.weight_squares);
}
/// Returns the ratio of the update's norm to that of the weights, or 0 if all weights are 0.
[[nodiscard]] inline double update_ratio(const ParameterHealth& health) {
  return health.weight_squares > 0 ? std::sqrt(health.change_squares / health.weight_squares) : 0;
}
/// Returns the share of the gradient's elements that `part` is.
[[nodiscard]] inline double share(std::int64_t part, const ParameterHealth& health) {
  return health.count > 0 ? static_cast<double>(part) / static_cast<double>(health.count) : 0;
}

}  // namespace mylos
