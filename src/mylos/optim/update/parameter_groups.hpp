// Parameter groups: options of the deck for the parameters whose names match its patterns.
#pragma once

#include "mylos/base/places.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"
#include "mylos/optim/options.hpp"

namespace mylos {

/// The update settings of one parameter.
struct ParameterSettings {
  float lr_factor = 1;
  float decay = 0;
  bool frozen = false;
};

/// Returns the settings of a parameter. Each key comes from the last matching group that sets it, or from the
/// parameter's own factors if no group does.
[[nodiscard]] ParameterSettings settings_of(const OptimizerOptions& options, const ParameterSlot& slot);

/// Throws Error (bad_input) if a pattern matches no parameter of the network; the message suggests similar
/// names. `places`: locations in the deck.
void require_groups_match(const Chain& chain, const OptimizerOptions& options, const Places& places = {});

}  // namespace mylos
