// Rotary position embedding (Su et al. 2021, arXiv 2104.09864): queries and keys are rotated by angles that
// grow with the position, so that their products depend on the distance alone.
//
//   (x_j, x_{j + d/2}) is rotated by position * 10000^(-2j/d),   j = 0 .. d/2 - 1,   d = head_width
#pragma once

#include <cstdint>

#include "mylos/base/tensor.hpp"

namespace mylos {

/// Rotates q and k of qkv [samples * length, 3 heads * head_width] in place, rounding once; v stays. The row
/// at sample * length + i has the position first_position + i. Angles are in double: far positions are as
/// exact as near ones. head_width is even.
void rotary_forward(const Execution& exec, const Tensor& qkv, std::int64_t length, std::int64_t heads,
                    std::int64_t head_width, std::int64_t first_position);

/// The transpose, which rotates back: from the gradient by the rotated q and k to that by the original ones.
void rotary_backward(const Execution& exec, const Tensor& d_qkv, std::int64_t length, std::int64_t heads,
                     std::int64_t head_width, std::int64_t first_position);

}  // namespace mylos
