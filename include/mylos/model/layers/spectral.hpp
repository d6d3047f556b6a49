// Layers of kind = "spectral": those of Fourier neural operators.
#pragma once

#include <tuple>

#include "mylos/model/layers/layer_kind.hpp"

namespace mylos::kinds {

/// A linear map of the channels of each of the lowest wave numbers (Li et al. 2021, arXiv 2010.08895).
struct Spectral {
  bool bias = true;    // adds a number to each channel
  PerAxis modes = {};  // wave numbers along each axis

  static constexpr LayerTraits traits{
      .name = "spectral",
      .meaning =
          "a linear map of the channels of each of the lowest wave numbers, as a Fourier neural operator has",
      .needs_grid = true,
      .computes_outputs = true,
      .has_weights = true,
      .keeps_points = true,
      .takes_parts = true};
  static constexpr auto keys() {
    return std::tuple(OwnKey<Spectral, bool>{.name = "bias",
                                             .member = &Spectral::bias,
                                             .meaning = "Adds a bias to each channel.",
                                             .says_parameters = true},
                      OwnKey<Spectral, PerAxis>{"modes",
                                                &Spectral::modes,
                                                "Wave numbers that each axis keeps, at most its points: of "
                                                "12 those from -6 to 5, of 5 from -2 to "
                                                "2; the last axis 0 to 6, and 0 to 2. Required.",
                                                "",
                                                {1, max_modes}});
  }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Spectral&) const = default;
};

}  // namespace mylos::kinds
