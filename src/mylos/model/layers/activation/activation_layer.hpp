// The activation and the dropout of a layer's result, or of its input where they are all that the layer does.
#pragma once

#include "mylos/model/chain/growing_chain.hpp"

namespace mylos {

/// Appends both, named after the layer where that is of the kind "activation", else "LAYER.activation".
void append_activation(GrowingChain& network, const LayerOptions& layer);

}  // namespace mylos
