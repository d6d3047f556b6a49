// The pass before Lamb's update, which needs the norms of the complete update.
#pragma once

#include "mylos/optim/update/trust_ratios.hpp"
#include "mylos/optim/update/update_formulas.hpp"

namespace mylos {

/// Updates the moments of these spans, and adds the squares of their weights and directions to the sums in
/// `ratios`. Skips frozen parameters, and does nothing if control->apply is 0.
void update_moments(const Execution& exec, const PassWork& work, const TrustRatios& ratios);

}  // namespace mylos
