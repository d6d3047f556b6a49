// Soft gating: a skip connection whose channels have a factor each (Kossaifi et al., TMLR 2024,
// arXiv 2310.00120).
//
//   y = x + gate * s        ds = gate * dy        dgate = the sum over the rows of dy * s
//
// Rows are the points of all samples, columns their channels. The gradient of x is dy.
#pragma once

#include <cstddef>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

/// Computes y, rounded once. x, s, y: [rows, columns] of one type; y may be x or s. gate: [1, columns] of any
/// type.
void soft_gate_forward(const Execution& exec, const ConstTensor& x, const ConstTensor& s,
                       const ConstTensor& gate, const Tensor& y);

/// Returns the bytes of workspace of soft_gate_backward().
[[nodiscard]] std::size_t soft_gate_workspace(std::int64_t rows, std::int64_t columns);

/// Computes ds (may be empty; `add`: adds to it and rounds once) and dgate, [1, columns] of any type, which
/// `accumulate` adds to. Sums are in float, in an order that depends on the shape alone. ds may be dy.
void soft_gate_backward(const Execution& exec, const ConstTensor& s, const ConstTensor& gate,
                        const ConstTensor& dy, const Tensor& ds, bool add, const Tensor& dgate,
                        bool accumulate, void* workspace);

}  // namespace mylos
