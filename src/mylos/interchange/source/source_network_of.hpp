// The SourceNetwork of a stored network: scaling of inputs, blocks, and what the outputs mean, as `mylos
// predict` computes it.
#pragma once

#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/model/source/source_layer.hpp"

namespace mylos {

/// Throws Error (bad_input, unsupported_feature) that names the first layer which source cannot compute.
void require_source_layers(const StoredNetwork& network);

/// Returns the operations. Throws Error (bad_input): as require_source_layers(); not_finite, which names the
/// layer, if a weight or a number of the scaling is not finite.
[[nodiscard]] SourceNetwork source_network_of(const StoredNetwork& network, const ReadSourceWeight& read);

}  // namespace mylos
