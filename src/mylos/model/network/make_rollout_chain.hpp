// Makes the copies of a network for rollout training.
#pragma once

#include "mylos/base/places.hpp"
#include "mylos/model/rollout/rollout_chain.hpp"
#include "mylos/precision/options.hpp"

namespace mylos {

/// `chain`: the network that make_chain() made of model, precision and seed. Throws Error (bad_input) if it
/// cannot read its own output: labels, tokens, other columns than those of the feedback, batch normalisation.
[[nodiscard]] RolloutChain make_rollout_chain(const Chain& chain, const ModelOptions& model,
                                              const PrecisionOptions& precision, std::uint64_t seed,
                                              const RolloutOptions& options);

}  // namespace mylos
