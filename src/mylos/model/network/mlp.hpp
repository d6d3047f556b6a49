// The multi-layer perceptron of the deck (model.type = "mlp").
#pragma once

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// Makes the chain hidden1, [norm1, [hidden1.activation,]] hidden2, ..., head; then the loss. `model.inputs`
/// and `model.outputs` must be set. `accumulates`: a step has several micro-batches.
[[nodiscard]] Chain make_mlp(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
                             bool accumulates, bool input_gradients = false);

}  // namespace mylos
