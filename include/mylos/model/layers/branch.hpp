// Layers of kind = "branch": the output of an earlier layer.
#pragma once

#include <tuple>

#include "mylos/model/layers/layer_kind.hpp"

namespace mylos::kinds {

/// The output of an earlier layer; a later layer reads the branch's own input.
struct Branch {
  static constexpr LayerTraits traits{.name = "branch",
                                      .meaning = "the output of an earlier layer",
                                      .reads_earlier = true,
                                      .restarts = true,
                                      .takes_parts = true};
  static constexpr auto keys() { return std::tuple(); }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Branch&) const = default;
};

}  // namespace mylos::kinds
