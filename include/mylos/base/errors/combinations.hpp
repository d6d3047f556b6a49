// Error ids of combinations of keys and of layers. docs/reference/errors.md explains each.
#pragma once

#include "mylos/base/error_id.hpp"

namespace mylos::errors {

/// Two keys, each of them valid, cannot be combined.
inline constexpr ErrorId keys_conflict{"keys-conflict"};
/// A layer cannot take its input, the network does not fit the samples (channels, grid or sizes do not
/// agree), or it has no weights.
inline constexpr ErrorId bad_layer{"bad-layer"};

}  // namespace mylos::errors
