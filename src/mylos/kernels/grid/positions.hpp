// Positions: the same numbers added to the points of every sample, y[row, c] = x[row, c] + p[c].
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

/// Computes y in float, rounded once. x, y: [rows, columns], p: [1, columns], all of one type; y may be x.
void add_positions(const Execution& exec, const ConstTensor& x, const ConstTensor& p, const Tensor& y);

}  // namespace mylos
