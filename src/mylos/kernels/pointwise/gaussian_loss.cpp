#include "mylos/kernels/pointwise/gaussian_loss.hpp"

#include "mylos/kernels/launch/math.hpp"
#include "mylos/kernels/pointwise/fields/weighted_numbers.hpp"

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

struct NegativeLogLikelihood {
  static constexpr bool mean_over_outputs = false;
  static constexpr bool sums_numbers = false;
  static constexpr std::int64_t outputs = 2;  // mean and log variance

  template <class Outputs>
  KOKKOS_FORCEINLINE_FUNCTION double loss(const Outputs& p, float t) const {
    return static_cast<double>(likelihood(p(0), p(1), t).value);
  }
  template <class Outputs, class Write>
  KOKKOS_FORCEINLINE_FUNCTION void slopes(const Outputs& p, float t, const Write& write) const {
    const Likelihood of = likelihood(p(0), p(1), t);
    write(0, of.of_mean);
    write(1, of.of_log_variance);
  }
};

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
  weighted_mean(exec, "gaussian_loss", field, arrays, NegativeLogLikelihood{});
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
