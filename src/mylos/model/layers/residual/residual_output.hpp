// model.residual: adds the network's input to its output, y = f(x) + x. A network that computes the next
// state of a field from the present one then learns the change (He et al. 2016, arXiv 1512.03385).
//
// The sum, and x on its way to it, are float for every compute type, unless a rule of the deck names
// "residual": in 16 bits an increment below 2^-9 of x would be lost to rounding.
#pragma once

#include <optional>

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// The shape of a sample at the network's input or output; axes = 0: a vector.
struct SampleShape {
  GridShape grid;
  std::size_t axes = 0;
};

/// Returns the type of the network's input if model.residual sets one.
[[nodiscard]] std::optional<DType> type_of_residual_input(const ModelOptions& model,
                                                          const PrecisionOptions& precision);

/// Returns the type of the last block's output.
[[nodiscard]] inline DType type_of_output(const Chain& chain) {
  return chain.blocks.back()->signature().output_type;
}

/// Appends the sum to a chain without head if model.residual is set. A vector matches a grid with the same
/// number of values. Throws Error (bad input) that names both shapes if they differ.
void append_residual(Chain& chain, const ModelOptions& model, const SampleShape& input,
                     const SampleShape& output);

}  // namespace mylos
