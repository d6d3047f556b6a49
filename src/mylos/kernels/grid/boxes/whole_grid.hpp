// The whole grid of samples whose boxes ranks hold: a box as a part of a sum over ranks, and back.
//
// Grids are [samples, columns]; the box is the inner grid of the shape.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/grid/margins.hpp"

namespace mylos {

/// Writes whole = the numbers of the box in their place and 0 elsewhere, doubles: their sum over the ranks is
/// the whole grid, exactly.
void spread_box(const Execution& exec, const MarginShape& shape, const ConstTensor& box, const Tensor& whole);

/// Writes the doubles rounded to the type of `to`, which has as many elements.
void take_doubles(const Execution& exec, const ConstTensor& doubles, const Tensor& to);

/// Writes box = factor times the part of whole that lies on it, in float.
void take_box(const Execution& exec, const MarginShape& shape, const ConstTensor& whole, float factor,
              const Tensor& box);

}  // namespace mylos
