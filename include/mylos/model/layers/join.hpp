// Layers of kind = "add" and "concat".
#pragma once

#include <tuple>

#include "mylos/model/layers/layer_kind.hpp"

namespace mylos::kinds {

/// Its input plus the output of an earlier layer.
struct Add {
  bool gated = false;  // a trained factor for each channel of the earlier layer

  static constexpr LayerTraits traits{.name = "add",
                                      .meaning = "its input plus the output of an earlier layer",
                                      .keeps_points = true,
                                      .reads_earlier = true,
                                      .takes_parts = true};
  static constexpr auto keys() {
    return std::tuple(OwnKey<Add, bool>{"gated", &Add::gated,
                                        "Multiplies each channel of the layer in 'skip_from' by a trained "
                                        "factor, which is 1 at first (soft gating)."});
  }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Add&) const = default;
};

/// The channels of its input and of an earlier layer.
struct Concat {
  bool skip_first = false;  // those of the earlier layer come first

  static constexpr LayerTraits traits{.name = "concat",
                                      .meaning = "the channels of its input and of an earlier layer",
                                      .keeps_points = true,
                                      .reads_earlier = true,
                                      .takes_parts = true};
  static constexpr auto keys() {
    return std::tuple(
        OwnKey<Concat, bool>{"skip_first", &Concat::skip_first,
                             "Puts the channels of the layer in 'skip_from' before those of the input, as "
                             "PyTorch's `cat([skip, x])`, not after them."});
  }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Concat&) const = default;
};

}  // namespace mylos::kinds
