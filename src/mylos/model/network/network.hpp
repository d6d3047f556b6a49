// The chain of a network whose layers the deck lists (model.type = "chain").
#pragma once

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// `model.inputs` is set, `model.outputs` (0: whatever the last layer gives), and `model.shape` where samples
/// lie on a grid. A dense layer reads a grid as one vector. Throws Error (bad_input), naming the layer, where
/// layers do not fit each other, a grid has no points left, a skip names no earlier layer or one of another
/// grid, and where the last layer does not give model.outputs numbers.
[[nodiscard]] Chain make_network(const ModelOptions& model, const PrecisionOptions& precision,
                                 std::uint64_t seed, bool accumulates);

}  // namespace mylos
