// The update of 16-bit weights that have no masters.
#pragma once

#include "mylos/optim/update/update_formulas.hpp"

namespace mylos {

/// Updates the weights. In observed steps the sums of each block are written to `sums`, unless that is null.
/// A weight's change is recorded before rounding: this is its change on average. Throws Error if weights are
/// float, or if gradients are neither float nor of the weights' type.
void update_rounded(const Execution& exec, const PassWork& update, ParameterHealth* sums);

}  // namespace mylos
