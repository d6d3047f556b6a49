// When each tensor of a schedule is alive: from the operation that writes it to the last that needs it.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/model/schedule.hpp"

namespace mylos {

inline constexpr std::size_t no_tensor = static_cast<std::size_t>(-1);

struct TensorLifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;  // operation
  std::size_t last = 0;   // operation, inclusive
  bool kept = false;      // waits for a backward operation
};

/// Indices into Lifetimes::tensors, or no_tensor.
struct OperationTensors {
  std::size_t input = no_tensor;
  std::size_t output = no_tensor;
  std::size_t saved = no_tensor;
  std::size_t workspace = no_tensor;
  std::size_t output_gradient = no_tensor;
  std::size_t input_gradient = no_tensor;
};

struct Lifetimes {
  std::vector<TensorLifetime> tensors;  // by first operation
  std::vector<OperationTensors> operations;
};

/// Follows the list operation by operation. Throws bad input where it cannot be executed.
[[nodiscard]] Lifetimes trace_lifetimes(const ChainCost& cost, const Schedule& schedule);

}  // namespace mylos
