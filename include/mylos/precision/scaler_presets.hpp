// Presets of the loss scaler: named values of three of its options (precision.scaler.preset in decks).
//
// conservative and aggressive differ from standard in where the scale begins and how it grows. small, medium
// and large are by the number of weights, below 10 million, up to 100 million and above: the larger a network
// is, the higher the scale begins.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "mylos/precision/options.hpp"

namespace mylos {

/// A named set of scaler options. The others are not changed by a preset.
struct ScalerPreset {
  std::string_view name;                // as in decks
  double initial_scale = 65536;         // factor of the loss in the first step
  double growth_factor = 2;             // above 1
  std::int64_t growth_interval = 2000;  // good steps in a row before the scale grows

  /// Writes the preset's values into `options`.
  constexpr void apply(ScalerOptions& options) const {
    options.initial_scale = initial_scale;
    options.growth_factor = growth_factor;
    options.growth_interval = growth_interval;
  }
};

/// All presets, in the order of the manual.
inline constexpr std::array<ScalerPreset, 6> scaler_presets{{{"standard", 65536, 2, 2000},
                                                             {"conservative", 32768, 1.5, 5000},
                                                             {"aggressive", 131072, 2.5, 1000},
                                                             {"small", 65536, 2, 2000},
                                                             {"medium", 262144, 2, 2000},
                                                             {"large", 1048576, 1.5, 2000}}};

/// Returns the default options with the values of the preset `name`. Throws Error (bad_call), listing the
/// names, for any other name.
[[nodiscard]] ScalerOptions scaler_preset(std::string_view name);

}  // namespace mylos
