#include "mylos/kernels/pointwise/nonnegative.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/math.hpp"
#include "mylos/kernels/launch/tile_values.hpp"
#include "mylos/kernels/options.hpp"

namespace mylos {
namespace {

struct Softplus {
  /// max(x, 0) + log(1 + e^-|x|) does not overflow.
  KOKKOS_FORCEINLINE_FUNCTION static float value(float x) {
    return (x > 0.0f ? x : 0.0f) + Kokkos::log1p(math::exp(-math::absolute(x)));
  }
  KOKKOS_FORCEINLINE_FUNCTION static float slope(float x) { return math::sigmoid(x); }
};

struct LargerOfZero {
  KOKKOS_FORCEINLINE_FUNCTION static float value(float x) { return x < 0.0f ? 0.0f : x; }
  KOKKOS_FORCEINLINE_FUNCTION static float slope(float x) { return x <= 0.0f ? 0.0f : 1.0f; }
};

/// Which elements of a tile are chosen.
struct ChosenChannels {
  const float* chosen;
  std::int64_t channels;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t first_of(std::int64_t element) const {
    return element % channels;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool has(std::int64_t first, std::int64_t i) const {
    return chosen[(first + i) % channels] != 0.0f;
  }
};

template <class F, class T>
void forward(const Execution& exec, const ChosenChannels& of, const ConstTensor& x, const Tensor& y) {
  const T* from = x.as<T>();
  T* to = y.as<T>();
  for_each_tile(
      exec, "nonnegative", x.size(), KOKKOS_LAMBDA(std::int64_t first, std::int64_t count) {
        const std::int64_t channel = of.first_of(first);
        float buffer[tile_width];
        const auto value = tile_values(from + first, count, buffer);
        float result[tile_width];
        for_each_in_tile(
            count, [&](std::int64_t i) { result[i] = of.has(channel, i) ? F::value(value[i]) : value[i]; });
        write_tile(result, count, to + first);
      });
}

template <class F, class T>
void backward(const Execution& exec, const ChosenChannels& of, const ConstTensor& x, const ConstTensor& dy,
              const Tensor& dx) {
  const T* from = x.as<T>();
  const T* slopes = dy.as<T>();
  T* to = dx.as<T>();
  for_each_tile(
      exec, "d_nonnegative", x.size(), KOKKOS_LAMBDA(std::int64_t first, std::int64_t count) {
        const std::int64_t channel = of.first_of(first);
        float buffers[2][tile_width];
        const auto value = tile_values(from + first, count, buffers[0]);
        const auto slope = tile_values(slopes + first, count, buffers[1]);
        float result[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) {
          result[i] = of.has(channel, i) ? slope[i] * F::slope(value[i]) : slope[i];
        });
        write_tile(result, count, to + first);
      });
}

}  // namespace

void nonnegative_forward(const Execution& exec, NonnegativeForm form, const float* chosen,
                         std::int64_t channels, const ConstTensor& x, const Tensor& y) {
  const ChosenChannels of{chosen, channels};
  dispatch(x.type(), [&]<class T>(TypeTag<T>) {
    if (form == NonnegativeForm::softplus) return forward<Softplus, T>(exec, of, x, y);
    forward<LargerOfZero, T>(exec, of, x, y);
  });
}

void nonnegative_backward(const Execution& exec, NonnegativeForm form, const float* chosen,
                          std::int64_t channels, const ConstTensor& x, const ConstTensor& dy,
                          const Tensor& dx) {
  const ChosenChannels of{chosen, channels};
  dispatch(x.type(), [&]<class T>(TypeTag<T>) {
    if (form == NonnegativeForm::softplus) return backward<Softplus, T>(exec, of, x, dy, dx);
    backward<LargerOfZero, T>(exec, of, x, dy, dx);
  });
}

}  // namespace mylos
