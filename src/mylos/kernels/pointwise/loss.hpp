// Loss functions: the loss of every sample in float, and in the same pass its gradient times the loss scale.
#pragma once

#include <cstdint>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/loss_arrays.hpp"

namespace mylos {

struct ClassificationOptions {
  float smoothing = 0;                   // s in [0, 1)
  const float* class_weights = nullptr;  // [classes] w in device memory; null: all are 1
};

/// Computes row_loss[r] = w[label] ((1 - s) l[label] + s mean of l[c] over the classes c) with l[c] = log of
/// the sum of e^logits[r] - logits[r][c], in float, stable for any finite logits (label smoothing: Szegedy et
/// al. 2016, arXiv 1512.00567).
///
/// Computes d_logits = *loss_scale * inverse_count * w[label] (softmax(logits) - (1 - s) onehot(label) - s /
/// classes), rounded to its type. d_logits may be logits. If it is empty, only the losses are computed, and
/// loss_scale may be null.
///
/// row_correct[r] (may be null) = 1 if the label has the largest logit (among equal ones the first wins),
/// else 0. A label outside the classes results in a NaN loss and gradient. Only the first `classes` columns
/// are classes (0: all of them); the others have no probability, and their gradient is 0.
void softmax_cross_entropy(const Execution& exec, const ConstTensor& logits, const std::int32_t* labels,
                           const Tensor& d_logits, const float* loss_scale, float inverse_count,
                           float* row_loss, std::int32_t* row_correct, std::int64_t classes = 0,
                           const ClassificationOptions& options = {});

/// Computes row_loss[r] = mean over the columns of (predictions - targets)^2, and d_predictions = *loss_scale
/// * inverse_count times its gradient. The same applies to the losses below.
void mean_squared_error(const Execution& exec, const LossArrays& arrays);

/// Computes the mean of |predictions - targets|, whose gradient is 0 where they are equal.
void mean_absolute_error(const Execution& exec, const LossArrays& arrays);

/// Computes the mean of e^2 / 2 if |e| <= delta, else delta (|e| - delta / 2), with e = predictions - targets
/// (Huber 1964, doi 10.1214/aoms/1177703732).
void mean_huber_loss(const Execution& exec, const LossArrays& arrays, float delta);

/// Computes the mean of -t log s - (1 - t) log(1 - s) with s = 1 / (1 + e^-predictions) and t = targets, from
/// 0 to 1; stable for any finite predictions.
void mean_binary_cross_entropy(const Execution& exec, const LossArrays& arrays);

/// Computes row_loss[r] = |predictions - targets| / |targets| with Euclidean norms over the columns, or
/// |predictions - targets| if all targets are 0. Its gradient is 0 where predictions and targets are equal.
void relative_l2_error(const Execution& exec, const LossArrays& arrays);

/// Adds the sum of `count` values to *sum, in double (or 64-bit integers) and in a fixed order. All in device
/// memory.
void sum_rows(const Execution& exec, const float* values, std::int64_t count, double* sum);
void sum_rows(const Execution& exec, const std::int32_t* values, std::int64_t count, std::int64_t* sum);

}  // namespace mylos
