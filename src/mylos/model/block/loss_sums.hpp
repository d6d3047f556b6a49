// Sums over the rows of a loss that is one of several.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/model/block/loss_head.hpp"

namespace mylos {

/// Sets the sums to zero.
void clear_sums(const Execution& exec, LossSums* sums);
/// Adds weight · sums->loss to to->loss.
void add_weighted(const Execution& exec, const LossSums* sums, float weight, LossSums* to);

}  // namespace mylos
