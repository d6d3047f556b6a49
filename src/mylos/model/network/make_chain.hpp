// The chain of the network that a deck defines.
#pragma once

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// Makes the chain. All shapes that the type of `model` has must be set. `accumulates`: a step has several
/// micro-batches. `input_gradients`: as Chain's; a gpt's tokens have none. Throws Error (bad_input) as the
/// function of that type does.
[[nodiscard]] Chain make_chain(const ModelOptions& model, const PrecisionOptions& precision,
                               std::uint64_t seed, bool accumulates, bool input_gradients = false);

/// Returns whether a layer of the network has dropout.
[[nodiscard]] bool has_dropout(const ModelOptions& model);

}  // namespace mylos
