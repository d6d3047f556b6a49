#include "mylos/kernels/pointwise/gated.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/column_sums.hpp"
#include "mylos/kernels/launch/math.hpp"
#include "mylos/kernels/launch/store.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {
namespace {

template <class T>
void forward(const Execution& exec, const ConstTensor& gate_tensor, const ConstTensor& up_tensor,
             const Tensor& y_tensor) {
  const T* gate = gate_tensor.as<T>();
  const T* up = up_tensor.as<T>();
  T* y = y_tensor.as<T>();
  for_each_tile(
      exec, "gated", y_tensor.size(), KOKKOS_LAMBDA(std::int64_t first, std::int64_t count) {
        float buffers[2][tile_width];
        float value[tile_width];
        const auto x = tile_values(gate + first, count, buffers[0]);
        const auto factor = tile_values(up + first, count, buffers[1]);
        for_each_in_tile(count, [&](std::int64_t i) { value[i] = x[i] * math::sigmoid(x[i]) * factor[i]; });
        write_tile(value, count, y + first);
      });
}

template <class T>
void backward(const Execution& exec, const ConstTensor& gate_tensor, const ConstTensor& up_tensor,
              const ConstTensor& dy_tensor, const Tensor& d_gate_tensor, const Tensor& d_up_tensor) {
  const T* gate = gate_tensor.as<T>();
  const T* up = up_tensor.as<T>();
  const T* dy = dy_tensor.as<T>();
  T* d_gate = d_gate_tensor.as<T>();
  T* d_up = d_up_tensor.as<T>();
  for_each_tile(
      exec, "d_gated", dy_tensor.size(), KOKKOS_LAMBDA(std::int64_t first, std::int64_t count) {
        float buffers[3][tile_width];
        float by_gate[tile_width];
        float by_up[tile_width];
        const auto gates = tile_values(gate + first, count, buffers[0]);
        const auto factor = tile_values(up + first, count, buffers[1]);
        const auto gradient = tile_values(dy + first, count, buffers[2]);
        for_each_in_tile(count, [&](std::int64_t i) {
          const float x = gates[i];
          const float d = gradient[i];
          const float s = math::sigmoid(x);
          by_gate[i] = d * factor[i] * (s + x * (s * (1.0f - s)));
          by_up[i] = d * (x * s);
        });
        write_tile(by_up, count, d_up + first);
        write_tile(by_gate, count, d_gate + first);
      });
}

template <class T>
void sum_rows_of(const Execution& exec, const Tensor& d_tensor, const Tensor& bias_gradient,
                 bool accumulate) {
  const T* d = d_tensor.as<T>();
  const std::int64_t columns = d_tensor.columns();
  const ResultVector gradient(bias_gradient);
  sum_columns(
      exec, "d_gated_bias", d_tensor.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count, float* value) {
        copy_tile(d + row * columns + first, count, value);
      },
      KOKKOS_LAMBDA(std::int64_t column, float total) { gradient.store(column, total, accumulate); });
}

}  // namespace

void gated_forward(const Execution& exec, const ConstTensor& gate, const ConstTensor& up, const Tensor& y) {
  dispatch(y.type(), [&](auto type) { forward<typename decltype(type)::type>(exec, gate, up, y); });
}

void gated_backward(const Execution& exec, const ConstTensor& gate, const ConstTensor& up,
                    const ConstTensor& dy, const Tensor& d_gate, const Tensor& d_up,
                    const Tensor& gate_bias_gradient, const Tensor& up_bias_gradient, bool accumulate) {
  dispatch(dy.type(), [&](auto type) {
    using T = typename decltype(type)::type;
    backward<T>(exec, gate, up, dy, d_gate, d_up);
    if (!gate_bias_gradient.empty()) sum_rows_of<T>(exec, d_gate, gate_bias_gradient, accumulate);
    if (!up_bias_gradient.empty()) sum_rows_of<T>(exec, d_up, up_bias_gradient, accumulate);
  });
}

}  // namespace mylos
