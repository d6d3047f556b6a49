// Losses of samples: the launch that they share. A loss is a functor that computes the loss of one sample and
// writes its gradient.
#pragma once

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/kernels/loss_arrays.hpp"

namespace mylos {

/// What a loss reads of a sample, in the type T of the predictions.
template <class T>
struct LossSample {
  std::int64_t index;  // of the row
  const T* p;          // predictions
  const float* t;      // targets
  T* d;                // where the gradient is written; null: it is not wanted
  float scale;         // of the gradient: *loss_scale * inverse_count
};

template <class T, class OfSample>
void for_each_sample_of(const Execution& exec, KernelName name, const LossArrays& arrays,
                        std::int64_t targets, const OfSample& of_sample) {
  const T* predictions = arrays.predictions.as<T>();
  T* d_predictions = arrays.d_predictions.empty() ? nullptr : arrays.d_predictions.as<T>();
  const std::int64_t columns = arrays.predictions.columns();
  for_each_row(
      exec, name, arrays.predictions.rows(), columns, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const OfSample of = of_sample;
        const bool has_gradient = d_predictions != nullptr;
        const float loss =
            of(row, LossSample<T>{.index = index,
                                  .p = predictions + index * columns,
                                  .t = arrays.targets + index * targets,
                                  .d = has_gradient ? d_predictions + index * columns : nullptr,
                                  .scale = has_gradient ? *arrays.loss_scale * arrays.inverse_count : 0.0f});
        float* const result = arrays.row_loss + index;
        row.once([=]() { *result = loss; });
      });
}

/// Computes row_loss[r] = of_sample(row, sample) for every row of the predictions. `targets`: of a sample.
/// `of_sample` is a functor for any LossSample<T> that kernels can copy; the threads of a row call it
/// together.
template <class OfSample>
void for_each_sample(const Execution& exec, KernelName name, const LossArrays& arrays, std::int64_t targets,
                     const OfSample& of_sample) {
  dispatch(arrays.predictions.type(), [&](auto type) {
    for_each_sample_of<typename decltype(type)::type>(exec, name, arrays, targets, of_sample);
  });
}

}  // namespace mylos
