// The norm of a layer's result, or of its input where it is all that the layer does.
#pragma once

#include "mylos/model/chain/growing_chain.hpp"

namespace mylos {

/// Appends the layer's 'norm', named after the layer where that is of the kind "norm", else "LAYER.norm".
void append_norm(GrowingChain& network, const LayerOptions& layer);

}  // namespace mylos
