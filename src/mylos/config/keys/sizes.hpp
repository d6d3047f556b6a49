// Sizes that a deck may leave to the data: model.inputs, model.outputs, model.vocabulary, and data.shape of a
// network on a grid.
#pragma once

#include <string>

#include "mylos/config/options.hpp"

namespace mylos {

/// Puts them where the options leave them open; `known` is a model that knows its data.
void take_sizes(Options& options, const ModelOptions& known);

/// The same in a resolved deck.
[[nodiscard]] std::string with_sizes(const std::string& resolved, const ModelOptions& known);

}  // namespace mylos
