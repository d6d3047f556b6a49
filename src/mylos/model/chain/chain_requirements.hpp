// What a run requires of its chain.
#pragma once

#include "mylos/base/places.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/options.hpp"
#include "mylos/precision/options.hpp"

namespace mylos {

/// Throws Error (bad_input) if the network has nothing to train. `places`: positions of the deck's keys.
void require_weights(const Chain& chain, const Places& places = {});

/// Throws Error (bad_input) if margins above 0 add no point to the grid of the chain: training pads nothing
/// then. Not for other grids, which may be coarser. `model`: of the chain.
void require_margins(const Chain& chain, const ModelOptions& model, const Places& places = {});

/// Throws Error (bad_input) if a rule of the deck matches no layer of the chain.
void require_rules_apply(const Chain& chain, const PrecisionOptions& precision);

}  // namespace mylos
