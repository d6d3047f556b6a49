// A loss of a program: the mean over outputs of log cosh(prediction - target).
#pragma once

#include <cmath>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/tensor_views.hpp"
#include "mylos/model/custom_loss.hpp"

namespace mylos::test {

inline double log_cosh(double error) {
  return std::log(std::cosh(error));
}

/// A function of its own: nvcc compiles no lambda within a method that is not public.
template <class T>
void log_cosh_of(const Execution& exec, const LossArrays& arrays) {
  const auto predictions = arrays.predictions.matrix<T>();
  const bool has_gradient = !arrays.d_predictions.empty();
  const auto gradient =
      has_gradient ? arrays.d_predictions.matrix<T>() : decltype(arrays.d_predictions.matrix<T>())();
  const float* const targets = arrays.targets;
  const float* const scale = arrays.loss_scale;
  float* const losses = arrays.row_loss;
  const float inverse_count = arrays.inverse_count;
  const auto columns = static_cast<int>(arrays.predictions.columns());
  Kokkos::parallel_for(
      "log cosh", Kokkos::RangePolicy<Execution>(exec, 0, arrays.predictions.rows()),
      KOKKOS_LAMBDA(const int row) {
        float sum = 0;
        for (int i = 0; i < columns; ++i) {
          const float error = to_float(predictions(row, i)) - targets[row * columns + i];
          sum += Kokkos::log(Kokkos::cosh(error));
          if (has_gradient)
            gradient(row, i) =
                from_float<T>(*scale * inverse_count * Kokkos::tanh(error) / static_cast<float>(columns));
        }
        losses[row] = sum / static_cast<float>(columns);
      });
}

class LogCosh final : public CustomLoss {
 public:
  void compute(const Execution& exec, const LossArrays& arrays) const override {
    dispatch(arrays.predictions.type(), [&]<class T>(TypeTag<T>) { log_cosh_of<T>(exec, arrays); });
  }
};

}  // namespace mylos::test
