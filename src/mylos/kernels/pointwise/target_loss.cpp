// Losses of predicted numbers against targets, per number or by the norm of a sample.
#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/kernels/launch/math.hpp"
#include "mylos/kernels/pointwise/loss.hpp"
#include "mylos/kernels/pointwise/target_errors.hpp"

namespace mylos {
namespace {

/// For a logit p: -t log s - (1 - t) log(1 - s) with s = 1 / (1 + e^-p) equals max(p, 0) - p t + log(1 +
/// e^-|p|), which does not overflow.
struct BinaryCrossEntropy {
  KOKKOS_FORCEINLINE_FUNCTION static float value(float p, float t) {
    return (p > 0 ? p : 0.0f) - p * t + Kokkos::log1p(math::exp(-math::absolute(p)));
  }
  KOKKOS_FORCEINLINE_FUNCTION static float slope(float p, float t) { return math::sigmoid(p) - t; }
};

template <class T, class Loss>
void mean_of_columns(const Execution& exec, KernelName name, const LossArrays& arrays, const Loss& loss) {
  const T* predictions = arrays.predictions.as<T>();
  T* d_predictions = arrays.d_predictions.empty() ? nullptr : arrays.d_predictions.as<T>();
  const float* targets = arrays.targets;
  const float* loss_scale = arrays.loss_scale;
  const float inverse_count = arrays.inverse_count;
  float* row_loss = arrays.row_loss;
  const std::int64_t columns = arrays.predictions.columns();
  const float inverse_columns = 1.0f / static_cast<float>(columns);
  for_each_row(
      exec, name, arrays.predictions.rows(), columns, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const T* p = predictions + index * columns;
        const float* t = targets + index * columns;
        const Loss of = loss;
        const float sum = row.sum(columns, [=](std::int64_t c) { return of.value(to_float(p[c]), t[c]); });
        if (d_predictions != nullptr) {
          T* d = d_predictions + index * columns;
          const float factor = *loss_scale * inverse_count * inverse_columns;
          row.for_each(columns, [=](std::int64_t c) {
            d[c] = from_float<T>(factor * of.slope(to_float(p[c]), t[c]));
          });
        }
        row.once([=]() { row_loss[index] = sum * inverse_columns; });
      });
}

template <class Loss>
void mean_of_columns_of(const Execution& exec, KernelName name, const LossArrays& arrays, const Loss& loss) {
  dispatch(arrays.predictions.type(),
           [&](auto type) { mean_of_columns<typename decltype(type)::type>(exec, name, arrays, loss); });
}

template <class T>
void relative_error(const Execution& exec, const LossArrays& arrays) {
  const T* predictions = arrays.predictions.as<T>();
  T* d_predictions = arrays.d_predictions.empty() ? nullptr : arrays.d_predictions.as<T>();
  const float* targets = arrays.targets;
  const float* loss_scale = arrays.loss_scale;
  const float inverse_count = arrays.inverse_count;
  float* row_loss = arrays.row_loss;
  const std::int64_t columns = arrays.predictions.columns();
  for_each_row(
      exec, "relative_l2", arrays.predictions.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const T* p = predictions + index * columns;
        const float* t = targets + index * columns;
        const float error = Kokkos::sqrt(
            row.sum(columns, [=](std::int64_t c) { return SquaredError::value(to_float(p[c]), t[c]); }));
        const float norm = Kokkos::sqrt(row.sum(columns, [=](std::int64_t c) { return t[c] * t[c]; }));
        const float share = norm > 0 ? 1.0f / norm : 1.0f;
        if (d_predictions != nullptr) {
          T* d = d_predictions + index * columns;
          const float inverse_error = error == 0 ? 0.0f : 1.0f / error;
          const float factor = *loss_scale * inverse_count * share;
          row.for_each(columns, [=](std::int64_t c) {
            d[c] = from_float<T>(factor * ((to_float(p[c]) - t[c]) * inverse_error));
          });
        }
        row.once([=]() { row_loss[index] = error * share; });
      });
}

}  // namespace

void mean_squared_error(const Execution& exec, const LossArrays& arrays) {
  mean_of_columns_of(exec, "squared_error", arrays, SquaredError{});
}

void mean_absolute_error(const Execution& exec, const LossArrays& arrays) {
  mean_of_columns_of(exec, "absolute_error", arrays, AbsoluteError{});
}

void mean_huber_loss(const Execution& exec, const LossArrays& arrays, float delta) {
  mean_of_columns_of(exec, "huber_loss", arrays, HuberLoss{delta});
}

void mean_binary_cross_entropy(const Execution& exec, const LossArrays& arrays) {
  mean_of_columns_of(exec, "binary_entropy", arrays, BinaryCrossEntropy{});
}

void relative_l2_error(const Execution& exec, const LossArrays& arrays) {
  dispatch(arrays.predictions.type(),
           [&](auto type) { relative_error<typename decltype(type)::type>(exec, arrays); });
}

}  // namespace mylos
