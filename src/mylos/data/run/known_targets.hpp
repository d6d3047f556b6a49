// The targets that a deck names in [model], checked against those of the data.
#pragma once

#include "mylos/base/places.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

/// Throws Error (bad_input), with the location of the key, if the terms of the loss or model.nonnegative name
/// what is not among `model.target_names`.
void require_known_targets(const ModelOptions& model, const Places& places);

}  // namespace mylos
