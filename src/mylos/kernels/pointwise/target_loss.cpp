// Losses of predicted numbers against targets, per number or by the norm of a sample.
#include "mylos/kernels/launch/math.hpp"
#include "mylos/kernels/pointwise/loss.hpp"
#include "mylos/kernels/pointwise/sample_loss.hpp"
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

/// The mean of the loss of single numbers.
template <class Loss>
struct MeanOfColumns {
  Loss loss;
  std::int64_t columns;

  template <class T>
  KOKKOS_FUNCTION float operator()(const Row& row, const LossSample<T>& sample) const {
    const Loss of = loss;
    const T* const p = sample.p;
    const float* const t = sample.t;
    const float inverse_columns = 1.0f / static_cast<float>(columns);
    const float sum = row.sum(columns, [=](std::int64_t c) { return of.value(to_float(p[c]), t[c]); });
    if (sample.d != nullptr) {
      T* const d = sample.d;
      const float factor = sample.scale * inverse_columns;
      row.for_each(columns,
                   [=](std::int64_t c) { d[c] = from_float<T>(factor * of.slope(to_float(p[c]), t[c])); });
    }
    return sum * inverse_columns;
  }
};

template <class Loss>
void mean_of_columns(const Execution& exec, KernelName name, const LossArrays& arrays, const Loss& loss) {
  const std::int64_t columns = arrays.predictions.columns();
  for_each_sample(exec, name, arrays, columns, MeanOfColumns<Loss>{loss, columns});
}

struct RelativeError {
  std::int64_t columns;

  template <class T>
  KOKKOS_FUNCTION float operator()(const Row& row, const LossSample<T>& sample) const {
    const T* const p = sample.p;
    const float* const t = sample.t;
    const float error = Kokkos::sqrt(
        row.sum(columns, [=](std::int64_t c) { return SquaredError::value(to_float(p[c]), t[c]); }));
    const float norm = Kokkos::sqrt(row.sum(columns, [=](std::int64_t c) { return t[c] * t[c]; }));
    const float share = norm > 0 ? 1.0f / norm : 1.0f;
    if (sample.d != nullptr) {
      T* const d = sample.d;
      const float inverse_error = error == 0 ? 0.0f : 1.0f / error;
      const float factor = sample.scale * share;
      row.for_each(columns, [=](std::int64_t c) {
        d[c] = from_float<T>(factor * ((to_float(p[c]) - t[c]) * inverse_error));
      });
    }
    return error * share;
  }
};

}  // namespace

void mean_squared_error(const Execution& exec, const LossArrays& arrays) {
  mean_of_columns(exec, "squared_error", arrays, SquaredError{});
}

void mean_absolute_error(const Execution& exec, const LossArrays& arrays) {
  mean_of_columns(exec, "absolute_error", arrays, AbsoluteError{});
}

void mean_huber_loss(const Execution& exec, const LossArrays& arrays, float delta) {
  mean_of_columns(exec, "huber_loss", arrays, HuberLoss{delta});
}

void mean_binary_cross_entropy(const Execution& exec, const LossArrays& arrays) {
  mean_of_columns(exec, "binary_entropy", arrays, BinaryCrossEntropy{});
}

void relative_l2_error(const Execution& exec, const LossArrays& arrays) {
  const std::int64_t columns = arrays.predictions.columns();
  for_each_sample(exec, "relative_l2", arrays, columns, RelativeError{columns});
}

}  // namespace mylos
