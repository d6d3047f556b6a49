// Sums over the rows of a loss that is one of several, or that of one of several boxes.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/model/block/loss_head.hpp"

namespace mylos {

/// Sets the sums to zero.
void clear_sums(const Execution& exec, LossSums* sums);
/// Adds weight · sums->loss to to->loss.
void add_weighted(const Execution& exec, const LossSums* sums, float weight, LossSums* to);

/// Adds the mean of the parts' losses to to->loss. They are added by the binary tree (binary_tree.hpp).
void add_mean_by_tree(const Execution& exec, const LossSums* parts, int count, LossSums* to);

}  // namespace mylos
