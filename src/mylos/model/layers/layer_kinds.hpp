// The kinds of layers: what each appends to a network. A kind lies in a folder of its own beside this file,
// with its blocks; its traits are a row of layer_traits (mylos/model/layers.hpp).
#pragma once

#include "mylos/model/chain/growing_chain.hpp"

namespace mylos {

/// Appends what the layer's kind computes, without its norm, activation and dropout, unless its block
/// computes these too (has_fused_activation()).
void append_kind(GrowingChain& network, const LayerOptions& layer);

// Of one kind each.
void append_dense(GrowingChain& network, const LayerOptions& layer);
void append_convolution(GrowingChain& network, const LayerOptions& layer);
void append_spectral(GrowingChain& network, const LayerOptions& layer);
void append_max_pool(GrowingChain& network, const LayerOptions& layer);
void append_average_pool(GrowingChain& network, const LayerOptions& layer);
void append_global_pool(GrowingChain& network, const LayerOptions& layer);
void append_upsampling(GrowingChain& network, const LayerOptions& layer);
void require_norm(GrowingChain& network, const LayerOptions& layer);
void require_activation(GrowingChain& network, const LayerOptions& layer);
void append_addition(GrowingChain& network, const LayerOptions& layer);
void append_concatenation(GrowingChain& network, const LayerOptions& layer);
void append_branch(GrowingChain& network, const LayerOptions& layer);
void append_coordinates(GrowingChain& network, const LayerOptions& layer);
void append_padding(GrowingChain& network, const LayerOptions& layer);
void append_crop(GrowingChain& network, const LayerOptions& layer);
void append_custom(GrowingChain& network, const LayerOptions& layer);

}  // namespace mylos
