// Token and position embedding: a row of a table for each token, plus a row for its position in the sample.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/pointwise/dropout.hpp"

namespace mylos {

/// Computes output[r] = dropout(token_weight[tokens[r]] + position_weight[r % length]), rounded to output's
/// type, for every row of output [rows, width]. token_weight: [vocabulary, width]. position_weight: [length
/// or more, width] of the same type, or empty. The row of a token outside the vocabulary is NaN.
void embedding_forward(const Execution& exec, const std::int32_t* tokens, std::int64_t length,
                       const ConstTensor& token_weight, const ConstTensor& position_weight,
                       const Tensor& output, const Dropout& dropout);

/// Returns the bytes of workspace that embedding_backward needs.
[[nodiscard]] std::size_t embedding_backward_workspace(std::int64_t rows, std::int64_t vocabulary);

/// Computes d_token [vocabulary, width] = the sum of dropout(d_output) over the rows of each token, and
/// d_position [length or more, width] (may be empty) = the sum over the rows of each position. The sums are
/// in float in the order of the rows, are added to the old values if requested, and are rounded once. Both
/// may have any type. A token outside the vocabulary adds nothing.
void embedding_backward(const Execution& exec, const std::int32_t* tokens, std::int64_t length,
                        const ConstTensor& d_output, const Tensor& d_token, const Tensor& d_position,
                        bool accumulate_token, bool accumulate_position, const Dropout& dropout,
                        void* workspace);

}  // namespace mylos
