#include "mylos/kernels/grid/positions.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {
namespace {

template <class T>
void add(const Execution& exec, const ConstTensor& x_tensor, const ConstTensor& p_tensor,
         const Tensor& y_tensor) {
  const T* x = x_tensor.as<T>();
  const T* p = p_tensor.as<T>();
  T* y = y_tensor.as<T>();
  const std::int64_t columns = x_tensor.columns();
  for_each_tile(
      exec, "positions", x_tensor.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        float buffers[2][tile_width];
        float sum[tile_width];
        const auto value = tile_values(x + row * columns + first, count, buffers[0]);
        const auto position = tile_values(p + first, count, buffers[1]);
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] = value[i] + position[i]; });
        write_tile(sum, count, y + row * columns + first);
      });
}

}  // namespace

void add_positions(const Execution& exec, const ConstTensor& x, const ConstTensor& p, const Tensor& y) {
  dispatch(x.type(), [&]<class T>(TypeTag<T>) { add<T>(exec, x, p, y); });
}

}  // namespace mylos
