// Placement: where every tensor of a step's operations lies in one arena.
//
// What is kept (inputs and saved tensors that wait for a backward) is a stack from the bottom; what passes
// (workspace, gradients, activations that nobody keeps) lies at the top, and so do, where that saves bytes,
// kept tensors that wait for a few operations only. A tensor never moves, and its bytes are free from the
// operation after its last reader on.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/model/schedule.hpp"

namespace mylos {

/// The place of a tensor that the arena does not hold: the step's input, what an operation does not have.
inline constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

/// Byte offsets in the arena, multiples of arena_alignment.
struct OperationPlaces {
  std::size_t input = nowhere;            // x_i; the loss: x_L
  std::size_t output = nowhere;           // x_{i+1} of forward and backward
  std::size_t saved = nowhere;            // of a forward that keeps a variant, and of backward
  std::size_t workspace = nowhere;        // of the bytes that the cost states for the operation
  std::size_t output_gradient = nowhere;  // backward: δ_{i+1}
  std::size_t input_gradient = nowhere;   // backward of block i > 0: δ_i; the loss: δ_L
};

struct Placement {
  std::vector<OperationPlaces> operations;  // one for each of the schedule's
  std::size_t bytes = 0;                    // of the arena
};

/// Places the schedule's tensors in the bytes of live_peak(), or, where the search does not find how, a
/// little more. Throws bad input, naming the operation, where the list cannot be executed: an operation reads
/// what is not there or computes what is, a block or variant does not exist, the loss or a backward is
/// missing or comes twice.
[[nodiscard]] Placement place(const ChainCost& cost, const Schedule& schedule);

/// Bytes of the tensors alive during each operation. Throws as place() does.
[[nodiscard]] std::vector<std::size_t> live_bytes(const ChainCost& cost, const Schedule& schedule);

/// The most of live_bytes(): no placement takes less.
[[nodiscard]] std::size_t live_peak(const ChainCost& cost, const Schedule& schedule);

}  // namespace mylos
