#include "mylos/kernels/attention/rotary.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/kernels/launch/math.hpp"

namespace mylos {
namespace {

constexpr double base = 10000;

template <class T>
struct Rotation {
  T* qkv;
  std::int64_t samples;
  std::int64_t length;
  std::int64_t columns;
  std::int64_t heads;
  std::int64_t head_width;
  std::int64_t first_position;
  double direction;  // 1 rotates forward, -1 back

  KOKKOS_FUNCTION double frequency(std::int64_t j) const {
    return direction *
           Kokkos::exp2(-2.0 * Kokkos::log2(base) / static_cast<double>(head_width) * static_cast<double>(j));
  }
  KOKKOS_FUNCTION double position(std::int64_t i) const { return static_cast<double>(first_position + i); }
  /// Returns the start of a head's pairs. The heads of q come first, then those of k: 2 heads in total.
  KOKKOS_FUNCTION T* pairs(std::int64_t sample, std::int64_t i, std::int64_t head) const {
    return qkv + (sample * length + i) * columns + head * head_width;
  }
};

template <class T>
KOKKOS_FORCEINLINE_FUNCTION void rotate_pair(T& low, T& high, float cosine, float sine) {
  const float a = to_float(low);
  const float b = to_float(high);
  low = from_float<T>(a * cosine - b * sine);
  high = from_float<T>(a * sine + b * cosine);
}

/// A thread processes some positions, because all samples and heads share their angles.
template <class T>
void rotate_on_host(const Execution& exec, const Rotation<T>& rotation) {
  for_each_block(
      exec, "rotary", rotation.length, 16, KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        constexpr std::int64_t together = 64;
        const std::int64_t half_width = rotation.head_width / 2;
        for (std::int64_t first = 0; first < half_width; first += together) {
          const std::int64_t count = launch::smaller(together, half_width - first);
          double frequency[together];
          float cosine[together];
          float sine[together];
          for (std::int64_t j = 0; j < count; ++j) frequency[j] = rotation.frequency(first + j);
          for (std::int64_t i = begin; i < end; ++i) {
            const double position = rotation.position(i);
            simd_for(0, count, [&](std::int64_t j) {
              const math::CosineSine of = math::cosine_sine(position * frequency[j]);
              cosine[j] = of.cosine;
              sine[j] = of.sine;
            });
            for (std::int64_t sample = 0; sample < rotation.samples; ++sample) {
              for (std::int64_t head = 0; head < 2 * rotation.heads; ++head) {
                T* low = rotation.pairs(sample, i, head) + first;
                T* high = low + half_width;
                simd_for(0, count, [&](std::int64_t j) { rotate_pair(low[j], high[j], cosine[j], sine[j]); });
              }
            }
          }
        }
      });
}

/// The heads of a token share their angles.
template <class T>
void rotate_on_device(const Execution& exec, const Rotation<T>& rotation) {
  const std::int64_t half_width = rotation.head_width / 2;
  for_each_row(
      exec, "rotary", rotation.samples * rotation.length, half_width,
      KOKKOS_LAMBDA(std::int64_t token, const Row& row) {
        const std::int64_t sample = token / rotation.length;
        const std::int64_t i = token - sample * rotation.length;
        row.for_each(half_width, [=](std::int64_t j) {
          const math::CosineSine of = math::cosine_sine(rotation.position(i) * rotation.frequency(j));
          for (std::int64_t head = 0; head < 2 * rotation.heads; ++head) {
            T* low = rotation.pairs(sample, i, head) + j;
            rotate_pair(low[0], low[half_width], of.cosine, of.sine);
          }
        });
      });
}

template <class T>
void rotate_as(const Execution& exec, const Tensor& qkv, std::int64_t length, std::int64_t heads,
               std::int64_t head_width, std::int64_t first_position, double direction) {
  const Rotation<T> rotation{qkv.as<T>(), qkv.rows() / length, length,         qkv.columns(),
                             heads,       head_width,          first_position, direction};
  if constexpr (runs_on_host) {
    rotate_on_host(exec, rotation);
  } else {
    rotate_on_device(exec, rotation);
  }
}

void rotate(const Execution& exec, const Tensor& qkv, std::int64_t length, std::int64_t heads,
            std::int64_t head_width, std::int64_t first_position, double direction) {
  dispatch(qkv.type(), [&](auto type) {
    rotate_as<typename decltype(type)::type>(exec, qkv, length, heads, head_width, first_position, direction);
  });
}

}  // namespace

void rotary_forward(const Execution& exec, const Tensor& qkv, std::int64_t length, std::int64_t heads,
                    std::int64_t head_width, std::int64_t first_position) {
  rotate(exec, qkv, length, heads, head_width, first_position, 1);
}

void rotary_backward(const Execution& exec, const Tensor& d_qkv, std::int64_t length, std::int64_t heads,
                     std::int64_t head_width, std::int64_t first_position) {
  rotate(exec, d_qkv, length, heads, head_width, first_position, -1);
}

}  // namespace mylos
