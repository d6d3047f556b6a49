// The chain of the network that a deck describes.
#pragma once

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// All shapes of `model` that its type has are set. `accumulates`: a step has several micro-batches. Throws
/// Error (bad_input) as the maker of that type does.
[[nodiscard]] Chain make_chain(const ModelOptions& model, const PrecisionOptions& precision,
                               std::uint64_t seed, bool accumulates);

}  // namespace mylos
