// model.residual: the network's input is added to its output, y = f(x) + x. So a network that makes the next
// state of a field from this one learns what changes (He et al. 2016, arXiv 1512.03385).
//
// The sum, and x from the data to it, are float whatever the network computes in, unless a rule of the deck
// names "residual": in 16 bits an increment below 2^-9 of x would be rounded away.
#pragma once

#include <optional>

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// What a sample is where it enters or leaves the network; axes of 0: a vector.
struct SampleShape {
  GridShape grid;
  std::size_t axes = 0;
};

/// The type of the network's input where model.residual asks for one.
[[nodiscard]] std::optional<DType> type_of_residual_input(const ModelOptions& model,
                                                          const PrecisionOptions& precision);

/// Of the last block.
[[nodiscard]] inline DType type_of_output(const Chain& chain) {
  return chain.blocks.back()->signature().output_type;
}

/// Appends the sum to a chain without head, where model.residual says so. A vector is as good as a grid with
/// as many numbers. Throws Error (bad input) that names both shapes where they differ.
void append_residual(Chain& chain, const ModelOptions& model, const SampleShape& input,
                     const SampleShape& output);

}  // namespace mylos
