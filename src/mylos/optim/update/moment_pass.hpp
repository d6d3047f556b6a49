// What precedes Lamb's update, which needs the norms of all that it would do.
#pragma once

#include "mylos/optim/update/trust_ratios.hpp"
#include "mylos/optim/update/update_formulas.hpp"

namespace mylos {

/// Moves the moments of these spans, and adds the squares of their weights and directions to the sums in
/// `ratios`. Nothing of what is frozen, nor where control->apply is 0.
void move_moments(const Execution& exec, const PassWork& work, const TrustRatios& ratios);

}  // namespace mylos
