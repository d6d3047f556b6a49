// The keys of a table [[model.layers]]: the layers of a network that the deck lists individually.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/value.hpp"
#include "mylos/model/layers.hpp"

namespace mylos {

[[nodiscard]] inline Words<Padding> padding_words() {
  return {{"zero", Padding::zero}, {"periodic", Padding::periodic}, {"reflect", Padding::reflect}};
}

/// Appends the layers of a list of tables. Returns a description of the first one that does not fit: "layer 2
/// with 'kernl'; did you mean 'kernel'?".
[[nodiscard]] std::optional<std::string> read_layers(const Value& value, std::vector<LayerOptions>& layers);

/// Returns each layer with the keys that differ from their defaults.
[[nodiscard]] Value layers_value(const std::vector<LayerOptions>& layers);

/// Returns a row of the manual's table for each key.
[[nodiscard]] std::string layers_manual();

}  // namespace mylos
