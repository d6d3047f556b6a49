// LossArrays: what a loss of targets reads and writes.
#pragma once

#include "mylos/base/tensor.hpp"

namespace mylos {

/// The samples of a micro-batch, in the memory where kernels run: a row of `predictions` and of `targets` for
/// each.
///
/// row_loss[r] is the loss of sample r in float. d_predictions receives *loss_scale * inverse_count times the
/// gradient of row_loss[r] by row r of the predictions, computed in float and rounded to its type once. It
/// may be the memory of the predictions.
struct LossArrays {
  ConstTensor predictions;         ///< [rows, columns], float or 16 bits
  const float* targets = nullptr;  ///< [rows, columns]
  Tensor d_predictions;  ///< as `predictions`; empty: only losses are wanted, `loss_scale` may be null
  const float* loss_scale = nullptr;  ///< one number
  float inverse_count = 1;            ///< of the samples of all micro-batches and ranks
  float* row_loss = nullptr;          ///< [rows]
};

}  // namespace mylos
