// The chain of a network whose layers the deck lists (model.type = "chain").
#pragma once

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// Makes the chain. `model.inputs` must be set, `model.outputs` (0: the last layer's outputs), and
/// `model.shape` if samples lie on a grid. A dense layer reads a grid as one vector. Throws Error (bad_input)
/// that names the layer if layers do not fit each other, if a grid has no points left, if a skip names no
/// earlier layer or one on another grid, or if the last layer does not give model.outputs numbers.
[[nodiscard]] Chain make_network(const ModelOptions& model, const PrecisionOptions& precision,
                                 std::uint64_t seed, bool accumulates, bool input_gradients = false);

}  // namespace mylos
