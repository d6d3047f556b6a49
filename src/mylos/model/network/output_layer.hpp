// The layer of a chain that computes the network's outputs. For the losses "gaussian" and "quantile" it
// computes several numbers for each: means, then log variances; or quantiles.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/model/options.hpp"

namespace mylos {

/// Returns the layer that computes the outputs; those after it only pass them on. Throws Error (bad_input) if
/// the last layers mix channels.
[[nodiscard]] std::size_t output_layer(const ModelOptions& model);

/// Returns the layer with the numbers that the loss reads for its outputs.
[[nodiscard]] LayerOptions with_outputs_of_targets(LayerOptions layer, const ModelOptions& model);

}  // namespace mylos
