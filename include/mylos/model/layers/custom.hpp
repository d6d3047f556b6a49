// Layers of kind = "custom": a layer of the program (custom_layer.hpp).
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "mylos/model/layers/layer_kind.hpp"

namespace mylos::kinds {

/// A layer of the program (custom_layer.hpp).
struct Custom {
  std::string layer = {};                       // CustomLayer::name()
  std::map<std::string, double> settings = {};  // what the deck sets for it

  static constexpr LayerTraits traits{.name = "custom",
                                      .meaning = "a layer of the program that reads the deck",
                                      .has_weights = true,
                                      .may_have_outputs = true};
  static constexpr auto keys() {
    return std::tuple(
        OwnKey<Custom, std::string>{.name = "layer",
                                    .member = &Custom::layer,
                                    .meaning =
                                        "A layer of the program that reads the deck, by its name there "
                                        "(docs/how-to/custom-layers.md). Required.",
                                    .is_required = true},
        OwnKey<Custom, std::map<std::string, double>>{
            "settings", &Custom::settings,
            "Numbers that the program's layer reads, by the names that it gives them: `{ speed = 0.5 }`."});
  }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Custom&) const = default;
};

}  // namespace mylos::kinds
