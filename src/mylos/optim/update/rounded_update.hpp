// The update of 16-bit weights that have no masters.
#pragma once

#include "mylos/optim/update/update_formulas.hpp"

namespace mylos {

/// In steps that are looked at, the sums of each block go to `sums`, unless that is null: of a weight's
/// change as the formulas ask for it, before it is rounded, which is what the weight moves by on average.
/// Throws Error where weights are floats, or gradients neither floats nor of the weights' type.
void update_rounded(const Execution& exec, const PassWork& update, ParameterHealth* sums);

}  // namespace mylos
