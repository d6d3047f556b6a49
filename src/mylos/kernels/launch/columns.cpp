#include "mylos/kernels/launch/columns.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {
namespace {

template <class T>
void copy(const Execution& exec, const ConstColumns& source, const Columns& target, std::int64_t columns) {
  const T* from = source.matrix.as<T>() + source.first;
  T* to = target.matrix.as<T>() + target.first;
  const std::int64_t from_stride = source.matrix.columns();
  const std::int64_t to_stride = target.matrix.columns();
  for_each_tile(
      exec, "copy_columns", source.matrix.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        map_tile(from + row * from_stride + first, count, to + row * to_stride + first,
                 [](T value) { return value; });
      });
}

template <class T>
void add(const Execution& exec, const ConstColumns& source, const Columns& target, std::int64_t columns) {
  const T* from = source.matrix.as<T>() + source.first;
  T* to = target.matrix.as<T>() + target.first;
  const std::int64_t from_stride = source.matrix.columns();
  const std::int64_t to_stride = target.matrix.columns();
  for_each_tile(
      exec, "add_columns", source.matrix.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        float from_buffer[tile_width];
        float to_buffer[tile_width];
        float sum[tile_width];
        T* to_tile = to + row * to_stride + first;
        const auto term = tile_values(from + row * from_stride + first, count, from_buffer);
        const auto before = tile_values(static_cast<const T*>(to_tile), count, to_buffer);
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] = before[i] + term[i]; });
        write_tile(sum, count, to_tile);
      });
}

}  // namespace

void copy_columns(const Execution& exec, const ConstColumns& from, const Columns& to, std::int64_t count,
                  bool adds) {
  if (from.matrix.rows() != to.matrix.rows() || from.first + count > from.matrix.columns() ||
      to.first + count > to.matrix.columns()) {
    fail_run(errors::internal, "copy of {} columns from [{}, {}] at {} to [{}, {}] at {}", count,
             from.matrix.rows(), from.matrix.columns(), from.first, to.matrix.rows(), to.matrix.columns(),
             to.first);
  }
  dispatch(from.matrix.type(), [&](auto type) {
    using T = typename decltype(type)::type;
    adds ? add<T>(exec, from, to, count) : copy<T>(exec, from, to, count);
  });
}

}  // namespace mylos
