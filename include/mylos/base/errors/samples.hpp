// Error ids of samples that do not fit a network or a run. docs/reference/errors.md explains each.
#pragma once

#include "mylos/base/error_id.hpp"

namespace mylos::errors {

/// A file of data does not fit the deck, the network or another file: features, targets, classes or grid
/// differ.
inline constexpr ErrorId data_mismatch{"data-mismatch"};
/// There are no samples, or fewer than the batch, the context, the ranks, the split or a normalisation layer
/// need.
inline constexpr ErrorId too_little_data{"too-little-data"};

}  // namespace mylos::errors
