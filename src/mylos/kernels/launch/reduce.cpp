#include "mylos/kernels/launch/reduce.hpp"

#include "mylos/kernels/launch/math.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {
namespace {

constexpr std::int64_t block_elements = 32768;

template <class T>
KOKKOS_FORCEINLINE_FUNCTION double block_sum_of_squares(const Row& row, const T* block, std::int64_t length) {
  if constexpr (runs_on_host) {
    return row.sum(length, [=](std::int64_t i) {
      const double value = to_float(block[i]);
      return value * value;
    });
  } else {
    return row.sum(launch::ceiling_quotient(length, tile_width), [=](std::int64_t tile) {
      const std::int64_t first = tile * tile_width;
      float values[tile_width];
      device_tile::read(block + first, launch::smaller(tile_width, length - first), values);
      double sum = 0;
      for_each_in_tile(length - first, [&](std::int64_t i) {
        const double value = values[i];
        sum += value * value;
      });
      return sum;
    });
  }
}

template <class T>
void block_sums_of_squares(const Execution& exec, const T* elements, std::int64_t count,
                           double* partial_sums) {
  for_each_row(
      exec, "sum_of_squares", launch::ceiling_quotient(count, block_elements),
      KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const T* block = elements + index * block_elements;
        const std::int64_t length = launch::smaller(block_elements, count - index * block_elements);
        const double sum = block_sum_of_squares(row, block, length);
        row.once([=]() { partial_sums[index] = sum; });
      });
}

void add_partial_sums(const Execution& exec, const double* partial_sums, std::int64_t blocks,
                      double* result) {
  for_each_row(
      exec, "add_blocks", 1, KOKKOS_LAMBDA(std::int64_t, const Row& row) {
        const double total = row.sum(blocks, [=](std::int64_t i) { return partial_sums[i]; });
        row.once([=]() { *result = total; });
      });
}

template <class T>
void find_first_nonfinite(const Execution& exec, const T* elements, std::int64_t count, std::int64_t* index) {
  for_each_row(
      exec, "first_nonfinite", 1, KOKKOS_LAMBDA(std::int64_t, const Row& row) {
        // Counted from the end, so that the first element has the largest number.
        const std::int64_t from_end = row.max(count, [=](std::int64_t i) {
          const bool finite =
              math::absolute(to_float(elements[i])) <= Kokkos::Experimental::finite_max_v<float>;
          return finite ? std::int64_t{0} : count - i;
        });
        row.once([=]() { *index = from_end > 0 ? count - from_end : -1; });
      });
}

}  // namespace

std::size_t partial_sums_bytes(std::int64_t count) {
  return static_cast<std::size_t>(launch::ceiling_quotient(count, block_elements)) * sizeof(double);
}

void sum_of_squares(const Execution& exec, const ConstTensor& tensor, double* partial_sums, double* result) {
  dispatch(tensor.type(), [&](auto tag) {
    block_sums_of_squares(exec, tensor.as<typename decltype(tag)::type>(), tensor.size(), partial_sums);
  });
  add_partial_sums(exec, partial_sums, launch::ceiling_quotient(tensor.size(), block_elements), result);
}

void first_nonfinite(const Execution& exec, const ConstTensor& tensor, std::int64_t* index) {
  dispatch(tensor.type(), [&](auto tag) {
    find_first_nonfinite(exec, tensor.as<typename decltype(tag)::type>(), tensor.size(), index);
  });
}

}  // namespace mylos
