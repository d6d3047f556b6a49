#include "mylos/kernels/pointwise/gaussian_loss.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/kernels/launch/math.hpp"

namespace mylos {
namespace {

constexpr float half_log_two_pi = 0.918938533f;

/// The loss of one target y, and its derivatives with respect to the mean and the log variance.
struct Likelihood {
  float value;
  float of_mean;
  float of_log_variance;
};

KOKKOS_FORCEINLINE_FUNCTION Likelihood likelihood(float mean, float log_variance, float target) {
  const float error = mean - target;
  const float bounded = log_variance < min_log_variance ? min_log_variance : log_variance;
  const float base = math::exp(-bounded);
  const float reached = log_variance < min_tangent ? min_tangent : log_variance;
  const float inverse_variance = base + base * (bounded - (reached < bounded ? reached : bounded));
  // The error is multiplied twice: its square may overflow where the product does not.
  const float slope = error * inverse_variance;
  return {0.5f * (log_variance + slope * error) + half_log_two_pi, slope,
          0.5f - 0.5f * (error * base) * error};
}

template <class T>
void likelihood_of(const Execution& exec, const FieldPoints& field, const LossArrays& arrays) {
  const T* predictions = arrays.predictions.as<T>();
  T* d_predictions = arrays.d_predictions.empty() ? nullptr : arrays.d_predictions.as<T>();
  const FieldWeights weights = field.weights;
  const std::int64_t points = field.points;
  const std::int64_t channels = field.channels;
  const std::int64_t columns = points * channels;
  for_each_row(
      exec, "gaussian_loss", arrays.predictions.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const T* p = predictions + index * columns * 2;
        const float* t = arrays.targets + index * columns;
        const auto value = [=](std::int64_t point, std::int64_t c) {
          const T* const mean = p + point * 2 * channels + c;
          const std::int64_t number = point * channels + c;
          const Likelihood of = likelihood(to_float(mean[0]), to_float(mean[channels]), t[number]);
          return weighted(weights.number(number), static_cast<double>(of.value));
        };
        double sum = 0;
        if (points == 1) {
          sum = weighted(weights.point(0), row.sum(channels, [=](std::int64_t c) { return value(0, c); }));
        } else {
          sum = row.sum(points, [=](std::int64_t point) {
            double total = 0;
            for (std::int64_t c = 0; c < channels; ++c) total += value(point, c);
            return weighted(weights.point(point), total);
          });
        }
        const double inverse_columns = 1.0 / static_cast<double>(columns);
        if (d_predictions != nullptr) {
          T* d = d_predictions + index * columns * 2;
          const float factor =
              *arrays.loss_scale * arrays.inverse_count * static_cast<float>(inverse_columns);
          const auto write = [=](std::int64_t point, std::int64_t c) {
            const std::int64_t mean = point * 2 * channels + c;
            const Likelihood of =
                likelihood(to_float(p[mean]), to_float(p[mean + channels]), t[point * channels + c]);
            const float weight = factor * weights.point(point) * weights.number(point * channels + c);
            d[mean] = from_float<T>(weighted(weight, of.of_mean));
            d[mean + channels] = from_float<T>(weighted(weight, of.of_log_variance));
          };
          if (points == 1) {
            row.for_each(channels, [=](std::int64_t c) { write(0, c); });
          } else {
            row.for_each(points, [=](std::int64_t point) {
              for (std::int64_t c = 0; c < channels; ++c) write(point, c);
            });
          }
        }
        float* const mean_loss = arrays.row_loss + index;
        row.once([=]() { *mean_loss = static_cast<float>(sum * inverse_columns); });
      });
}

/// Sets to[i] = of(from[mean], from[log variance]) for every number i of all samples.
template <class T, class To, class Function>
void for_each_output(const Execution& exec, KernelName name, const FieldPoints& field, const T* from, To* to,
                     std::int64_t samples, const Function& function) {
  const std::int64_t channels = field.channels;
  for_each_row(
      exec, name, samples * field.points, channels, KOKKOS_LAMBDA(std::int64_t point, const Row& row) {
        const T* const mean = from + point * 2 * channels;
        To* const of_point = to + point * channels;
        const Function of = function;
        row.for_each(channels, [=](std::int64_t c) { of_point[c] = of(mean[c], mean[channels + c]); });
      });
}

struct TakeMean {
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T operator()(T mean, T) const {
    return mean;
  }
};

struct Deviation {
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION float operator()(T, T log_variance) const {
    return math::exp(0.5f * to_float(log_variance));
  }
};

}  // namespace

void gaussian_likelihood(const Execution& exec, const FieldPoints& field, const LossArrays& arrays) {
  dispatch(arrays.predictions.type(),
           [&](auto type) { likelihood_of<typename decltype(type)::type>(exec, field, arrays); });
}

void gaussian_means(const Execution& exec, const FieldPoints& field, const ConstTensor& outputs,
                    const Tensor& means) {
  dispatch(outputs.type(), [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_output(exec, "gauss_means", field, outputs.as<T>(), means.as<T>(), outputs.rows(), TakeMean{});
  });
}

void gaussian_deviations(const Execution& exec, const FieldPoints& field, const ConstTensor& outputs,
                         const Tensor& deviations) {
  dispatch(outputs.type(), [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_output(exec, "gauss_deviation", field, outputs.as<T>(), deviations.as<float>(), outputs.rows(),
                    Deviation{});
  });
}

}  // namespace mylos
