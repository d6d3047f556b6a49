// Placement: where every tensor of a step's operations lies in one arena; and EvaluationLayout, the same for
// a forward pass without backward.
//
// What is kept (inputs and saved tensors that wait for a backward) is a stack from the bottom; what passes
// (workspace, gradients, activations that nobody keeps) lies at the top, and so do, where that saves bytes,
// kept tensors that wait for a few operations only. A tensor never moves, and its bytes are free from the
// operation after its last reader on.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/model/memory/lifetimes.hpp"

namespace mylos {

/// The place of a tensor that the arena does not hold.
inline constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

/// Byte offsets in the arena, multiples of arena_alignment, of an operation's tensors (OperationTensors).
struct OperationPlaces {
  std::size_t input = nowhere;
  std::size_t output = nowhere;
  std::size_t saved = nowhere;
  std::size_t workspace = nowhere;
  std::size_t output_gradient = nowhere;
  std::size_t input_gradient = nowhere;
  std::size_t skip = nowhere;
  std::size_t skip_gradient = nowhere;
  std::size_t carried_gradient = nowhere;
};

struct Placement {
  std::vector<OperationPlaces> operations;  // one for each of the schedule's
  std::vector<std::size_t> tensors;         // one for each of Lifetimes::tensors
  std::size_t bytes = 0;                    // of the arena
};

/// Places the tensors in the bytes of live_peak(), or, where the search does not find how, a little more.
[[nodiscard]] Placement place(const Lifetimes& lifetimes);

/// Boundary activations take turns at the two ends of the arena and workspace lies between them, so that the
/// arena holds no more than is alive. Where some are carried past blocks, all are placed like a step's.
struct EvaluationLayout {
  std::vector<std::size_t> output;     // of each block
  std::vector<std::size_t> skip;       // of each block; nowhere: it reads none, or the chain's input
  std::vector<std::size_t> workspace;  // of each block, and of the loss
  std::size_t bytes = 0;
};

/// Takes at least `bytes`, the arena that is there anyway.
[[nodiscard]] EvaluationLayout make_evaluation_layout(const ChainCost& cost, std::size_t bytes);

}  // namespace mylos
