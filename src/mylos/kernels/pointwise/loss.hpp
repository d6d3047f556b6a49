// Loss functions: the loss of every sample in float, and its gradient times the loss scale in the same pass.
#pragma once

#include <cstdint>

#include "mylos/base/tensor.hpp"

namespace mylos {

struct ClassificationOptions {
  float smoothing = 0;                   // s in [0, 1)
  const float* class_weights = nullptr;  // [classes] w in device memory; null: all are 1
};

/// row_loss[r] = w[label] ((1 - s) l[label] + s mean of l[c] over the classes c), with l[c] = log of the sum
/// of e^logits[r] - logits[r][c], in float, stable for any finite logits (label smoothing: Szegedy et al.
/// 2016, arXiv 1512.00567); and d_logits = *loss_scale * inverse_count * w[label] (softmax(logits) - (1 - s)
/// onehot(label) - s / classes), rounded to its type. d_logits may be logits; where it is empty only the
/// losses are computed and loss_scale may be null. row_correct[r] (may be null) = 1 where the label has the
/// largest logit (of equal ones the first wins), else 0. A label outside the classes gives a NaN loss and
/// gradient. Only the first `classes` columns are classes (0: all of them); the others take no probability,
/// and their gradient is 0.
void softmax_cross_entropy(const Execution& exec, const Tensor& logits, const std::int32_t* labels,
                           const Tensor& d_logits, const float* loss_scale, float inverse_count,
                           float* row_loss, std::int32_t* row_correct, std::int64_t classes = 0,
                           const ClassificationOptions& options = {});

/// row_loss[r] = mean over the columns of (predictions - targets)^2, and d_predictions = *loss_scale *
/// inverse_count times its gradient. targets: [rows, columns] floats. d_predictions as d_logits above. So do
/// those that follow.
void mean_squared_error(const Execution& exec, const Tensor& predictions, const float* targets,
                        const Tensor& d_predictions, const float* loss_scale, float inverse_count,
                        float* row_loss);

/// Of |predictions - targets|, whose gradient is 0 where they are equal.
void mean_absolute_error(const Execution& exec, const Tensor& predictions, const float* targets,
                         const Tensor& d_predictions, const float* loss_scale, float inverse_count,
                         float* row_loss);

/// Of e^2 / 2 where |e| <= delta, else delta (|e| - delta / 2), e = predictions - targets (Huber 1964,
/// doi 10.1214/aoms/1177703732).
void mean_huber_loss(const Execution& exec, const Tensor& predictions, const float* targets,
                     const Tensor& d_predictions, const float* loss_scale, float inverse_count,
                     float* row_loss, float delta);

/// Of -t log s - (1 - t) log(1 - s) with s = 1 / (1 + e^-logits) and t = targets, from 0 to 1; stable for any
/// finite logits.
void mean_binary_cross_entropy(const Execution& exec, const Tensor& logits, const float* targets,
                               const Tensor& d_logits, const float* loss_scale, float inverse_count,
                               float* row_loss);

/// row_loss[r] = |predictions - targets| / |targets|, of the Euclidean norms over the columns; where all
/// targets are 0, |predictions - targets|. Its gradient is 0 where predictions and targets are equal.
void relative_l2_error(const Execution& exec, const Tensor& predictions, const float* targets,
                       const Tensor& d_predictions, const float* loss_scale, float inverse_count,
                       float* row_loss);

/// *sum += the sum of `count` values, in double (or 64-bit integers) and in a fixed order. All in device
/// memory.
void sum_rows(const Execution& exec, const float* values, std::int64_t count, double* sum);
void sum_rows(const Execution& exec, const std::int32_t* values, std::int64_t count, std::int64_t* sum);

}  // namespace mylos
