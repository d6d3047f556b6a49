// Sizes that a deck may leave to the data: model.inputs, model.outputs, model.vocabulary, and data.shape of a
// network on a grid.
#pragma once

#include <string>

#include "mylos/config/options.hpp"

namespace mylos {

/// Copies the sizes of `known`, a model completed from its data, into the options that leave them open.
void take_sizes(Options& options, const ModelOptions& known);

/// Does the same for the text of a resolved deck.
[[nodiscard]] std::string with_sizes(const std::string& resolved, const ModelOptions& known);

}  // namespace mylos
