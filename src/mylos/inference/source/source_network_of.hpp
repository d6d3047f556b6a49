// The SourceNetwork of a stored network: scaling of inputs, blocks, and what the outputs mean, as `mylos
// predict` computes it.
#pragma once

#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/model/source/source_layer.hpp"

namespace mylos {

/// What the operations are for, as messages say it.
struct SourcePurpose {
  const char* to_do;       // what networks of other layers cannot: "be written as source"
  const char* what_helps;  // what is possible with them
  bool takes_columns;      // whether operations may be of the points of a column
};

/// Returns the operations. Throws Error (bad_input): unsupported_feature, which names the first layer that
/// is no sequence of them; not_finite, which names the layer, if a weight or a number of the scaling is not
/// finite.
[[nodiscard]] SourceNetwork source_network_of(const StoredNetwork& network, const ReadSourceWeight& read,
                                              const SourcePurpose& purpose);

}  // namespace mylos
