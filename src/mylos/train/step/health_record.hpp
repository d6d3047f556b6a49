// What one step tells of every parameter, and of which parameters.
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
/// Of the update to the weights; 0 where these are all 0.
[[nodiscard]] inline double update_ratio(const ParameterHealth& health) {
  return health.weight_squares > 0 ? std::sqrt(health.change_squares / health.weight_squares) : 0;
}
/// Of the gradients' elements.
[[nodiscard]] inline double share(std::int64_t part, const ParameterHealth& health) {
  return health.count > 0 ? static_cast<double>(part) / static_cast<double>(health.count) : 0;
}

}  // namespace mylos
