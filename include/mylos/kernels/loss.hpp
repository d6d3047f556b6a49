// Loss functions: the loss of every sample in float, and its gradient times the loss scale in the same pass.
#pragma once

#include <cstdint>

#include "mylos/base/tensor.hpp"

namespace mylos {

/// row_loss[r] = log of the sum of e^logits[r] - logits[r][label], in float, stable for any finite logits;
/// and d_logits = *loss_scale * inverse_count * (softmax(logits) - onehot(label)), rounded to its type.
/// d_logits may be logits; where it is empty only the losses are computed and loss_scale may be null.
/// row_correct[r] (may be null) = 1 where the label has the largest logit (of equal ones the first wins),
/// else 0. A label outside the classes gives a NaN loss and gradient. Only the first `classes` columns are
/// classes (0: all of them); the others take no probability, and their gradient is 0.
void softmax_cross_entropy(const Execution& exec, const Tensor& logits, const std::int32_t* labels,
                           const Tensor& d_logits, const float* loss_scale, float inverse_count,
                           float* row_loss, std::int32_t* row_correct, std::int64_t classes = 0);

/// row_loss[r] = mean over the columns of (predictions - targets)^2, and d_predictions = *loss_scale *
/// inverse_count times its gradient. targets: [rows, columns] floats. d_predictions as d_logits above.
void mean_squared_error(const Execution& exec, const Tensor& predictions, const float* targets,
                        const Tensor& d_predictions, const float* loss_scale, float inverse_count,
                        float* row_loss);

/// *sum += the sum of `count` values, in double (or 64-bit integers) and in a fixed order. All in device
/// memory.
void sum_rows(const Execution& exec, const float* values, std::int64_t count, double* sum);
void sum_rows(const Execution& exec, const std::int32_t* values, std::int64_t count, std::int64_t* sum);

}  // namespace mylos
