// FloatLayers: which layers of a deck's network compute in half and could compute in float, when numbers are
// too large for half (65504). It is no question for bf16, which has the range of float.
#pragma once

#include <string>

#include "mylos/config/options.hpp"

namespace mylos {

/// Whether the network has a layer of this name that computes in half and can compute in float.
[[nodiscard]] bool can_become_float(const Options& options, const std::string& layer);
/// The first of those; "": there is none.
[[nodiscard]] std::string first_that_can_become_float(const Options& options);
[[nodiscard]] bool computes_in_half(const Options& options);
/// What "auto" stands for there.
[[nodiscard]] ScalerMode scaler_mode_of(const Options& options);

}  // namespace mylos
