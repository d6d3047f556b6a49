#include "mylos/kernels/pointwise/residual.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/tile_values.hpp"
#include "mylos/kernels/pointwise/activation.hpp"
#include "mylos/kernels/pointwise/dropout_mask.hpp"

namespace mylos {
namespace {

template <class T>
void forward(const Execution& exec, const ConstTensor& x_tensor, const ConstTensor& branch_tensor,
             const Tensor& y_tensor, const Dropout& dropout) {
  const T* x = x_tensor.as<T>();
  const T* branch = branch_tensor.as<T>();
  T* y = y_tensor.as<T>();
  const std::int64_t columns = x_tensor.columns();
  const DropoutMask mask(dropout);
  for_each_tile(
      exec, "residual", x_tensor.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        float past_buffer[tile_width];
        float branch_buffer[tile_width];
        float sum[tile_width];
        const auto past = tile_values(x + row * columns + first, count, past_buffer);
        const auto through = tile_values(branch + row * columns + first, count, branch_buffer);
        if (mask.active()) {
          float factor[tile_width];
          mask.factors(row, first, count, factor);
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] = past[i] + through[i] * factor[i]; });
        } else {
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] = past[i] + through[i]; });
        }
        write_tile(sum, count, y + row * columns + first);
      });
}

}  // namespace

void residual_forward(const Execution& exec, const ConstTensor& x, const ConstTensor& branch, const Tensor& y,
                      const Dropout& dropout) {
  dispatch(x.type(), [&](auto type) { forward<typename decltype(type)::type>(exec, x, branch, y, dropout); });
}

void residual_backward(const Execution& exec, const ConstTensor& dy, const Tensor& d_branch,
                       const Tensor& bias_gradient, bool accumulate, const Dropout& dropout) {
  activation_backward(exec, Activation::none, {}, dy, d_branch, bias_gradient, accumulate, dropout);
}

}  // namespace mylos
