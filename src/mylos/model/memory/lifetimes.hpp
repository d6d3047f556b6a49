// Lifetimes: what a list of operations holds in memory, and when. A tensor is alive from the operation that
// writes it to the last that needs it.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/model/memory/schedule.hpp"

namespace mylos {

inline constexpr std::size_t no_tensor = static_cast<std::size_t>(-1);

struct TensorLifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;  // operation
  std::size_t last = 0;   // operation, inclusive
  bool kept = false;      // waits for a backward operation
};

/// Indices into Lifetimes::tensors, or no_tensor: what an operation does not have, the step's input where it
/// lies outside the arena.
struct OperationTensors {
  std::size_t input = no_tensor;            // x_i; the loss: x_L
  std::size_t output = no_tensor;           // x_{i+1} of forward and backward
  std::size_t saved = no_tensor;            // of a forward that keeps a variant, and of backward
  std::size_t workspace = no_tensor;        // of the bytes that the cost states for the operation
  std::size_t output_gradient = no_tensor;  // backward: δ_{i+1}
  std::size_t input_gradient = no_tensor;   // backward of block i > 0: δ_i; the loss: δ_L
  std::size_t skip = no_tensor;             // forward and backward: x_s that the block reads besides x_i
  std::size_t skip_gradient = no_tensor;    // backward: of x_s, started or added to
  std::size_t carried_gradient =
      no_tensor;  // backward of block i: what later blocks left of the gradient of x_i
};

struct Lifetimes {
  std::vector<TensorLifetime> tensors;  // by first operation
  std::vector<OperationTensors> operations;

  /// Of the tensors alive during each operation.
  [[nodiscard]] std::vector<std::size_t> live_bytes() const;
  /// The most of them: no placement takes less.
  [[nodiscard]] std::size_t live_peak() const;
};

/// Follows the list operation by operation. Throws bad input, naming the operation, where it cannot be
/// executed: an operation reads what is not there or computes what is, a block or variant does not exist, the
/// loss or a backward is missing or comes twice.
[[nodiscard]] Lifetimes trace_lifetimes(const ChainCost& cost, const Schedule& schedule);

}  // namespace mylos
