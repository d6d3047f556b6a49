#include "mylos/kernels/rotary.hpp"

#include "mylos/kernels/launch.hpp"

namespace mylos {
namespace {

constexpr double base = 10000;

/// `direction` 1 turns forward, -1 back. A row of work is a position: all samples and heads share its angles.
template <class T>
void rotate(const Execution& exec, const Tensor& qkv_tensor, std::int64_t length, std::int64_t heads,
            std::int64_t head_width, std::int64_t first_position, double direction) {
  T* qkv = qkv_tensor.as<T>();
  const std::int64_t samples = qkv_tensor.rows() / length;
  const std::int64_t columns = qkv_tensor.columns();
  const std::int64_t pairs = head_width / 2;
  const double exponent = -2.0 * Kokkos::log2(base) / static_cast<double>(head_width);
  for_each_row(
      exec, "rotary", length, KOKKOS_LAMBDA(std::int64_t position, const Row& row) {
        row.for_each(pairs, [=](std::int64_t j) {
          const double angle = direction * static_cast<double>(first_position + position) *
                               Kokkos::exp2(exponent * static_cast<double>(j));
          const auto cosine = static_cast<float>(Kokkos::cos(angle));
          const auto sine = static_cast<float>(Kokkos::sin(angle));
          for (std::int64_t sample = 0; sample < samples; ++sample) {
            T* x = qkv + (sample * length + position) * columns + j;
            for (std::int64_t head = 0; head < 2 * heads; ++head) {  // those of q, then those of k
              T* low = x + head * head_width;
              T* high = low + pairs;
              const float a = to_float(*low);
              const float b = to_float(*high);
              *low = from_float<T>(a * cosine - b * sine);
              *high = from_float<T>(a * sine + b * cosine);
            }
          }
        });
      });
}

void rotate(const Execution& exec, const Tensor& qkv, std::int64_t length, std::int64_t heads,
            std::int64_t head_width, std::int64_t first_position, double direction) {
  dispatch(qkv.type(), [&](auto type) {
    rotate<typename decltype(type)::type>(exec, qkv, length, heads, head_width, first_position, direction);
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
