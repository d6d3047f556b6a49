// The orders of operations and channels that names and shapes of weights do not show: whether a norm precedes
// the activation, and which input comes first in a concatenation. Weights of another program give other
// outputs if it uses another order than the deck.
#pragma once

#include <string>
#include <vector>

#include "mylos/model/options.hpp"

namespace mylos {

/// Returns a line for each such order that the network has, with the key that selects the other one.
[[nodiscard]] std::vector<std::string> assumed_orders(const ModelOptions& model);

}  // namespace mylos
