// The SourceNetwork of a stored network: scaling of inputs, blocks, and what the outputs mean, as `mylos
// predict` computes it.
#pragma once

#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/model/source/source_layer.hpp"

namespace mylos {

/// Returns the operations. Throws Error (bad_input): unsupported_feature, which names the first layer that
/// source cannot compute; not_finite, which names the layer, if a weight or a number of the scaling is not
/// finite.
[[nodiscard]] SourceNetwork source_network_of(const StoredNetwork& network, const ReadSourceWeight& read);

}  // namespace mylos
