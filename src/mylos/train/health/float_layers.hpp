// FloatLayers: the layers of a deck's network that compute in half and could compute in float, for values
// that exceed the range of half (65504). Layers in bf16 are not considered, as bf16 has the range of float.
#pragma once

#include <string>

#include "mylos/config/options.hpp"

namespace mylos {

/// Returns whether the network has a layer of this name that computes in half and can compute in float.
[[nodiscard]] bool can_become_float(const Options& options, const std::string& layer);
/// Returns the first such layer; "" if there is none.
[[nodiscard]] std::string first_that_can_become_float(const Options& options);
[[nodiscard]] bool computes_in_half(const Options& options);
/// Returns the scaler mode of these options, with "auto" resolved.
[[nodiscard]] ScalerMode scaler_mode_of(const Options& options);

}  // namespace mylos
