// Parameter groups: what the deck says of parameters by the patterns that their names match.
#pragma once

#include "mylos/base/places.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"
#include "mylos/optim/options.hpp"

namespace mylos {

/// How one parameter moves.
struct ParameterSettings {
  float lr_factor = 1;
  float decay = 0;
  bool frozen = false;
};

/// Of each key the last group counts that has it and matches. Without any the parameter's own factors do.
[[nodiscard]] ParameterSettings settings_of(const OptimizerOptions& options, const ParameterSlot& slot);

/// Throws Error (bad_input) where a pattern matches no parameter of the network, naming near ones. `places`:
/// of the deck.
void require_groups_match(const Chain& chain, const OptimizerOptions& options, const Places& places = {});

}  // namespace mylos
