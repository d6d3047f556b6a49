// Rotary position embedding (Su et al. 2021, arXiv 2104.09864): rotates queries and keys by angles
// proportional to the position, so that their products depend only on the distance.
//
//   (x_j, x_{j + d/2}) is rotated by position * 10000^(-2j/d),   j = 0 .. d/2 - 1,   d = head_width
#pragma once

#include <cstdint>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

/// Rotates q and k of qkv [samples * length, 3 heads * head_width] in place and rounds once; v is unchanged.
/// The row sample * length + i has position first_position + i. Angles are computed in double, so that they
/// are as exact for large positions as for small ones. head_width must be even.
void rotary_forward(const Execution& exec, const Tensor& qkv, std::int64_t length, std::int64_t heads,
                    std::int64_t head_width, std::int64_t first_position);

/// Applies the transpose, which rotates back: turns the gradient of the rotated q and k into that of the
/// original ones.
void rotary_backward(const Execution& exec, const Tensor& d_qkv, std::int64_t length, std::int64_t heads,
                     std::int64_t head_width, std::int64_t first_position);

}  // namespace mylos
