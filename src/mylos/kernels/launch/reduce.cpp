#include "mylos/kernels/launch/reduce.hpp"

#include "mylos/base/device/device_array_views.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/base/numbers/binary_tree.hpp"
#include "mylos/kernels/launch/math.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {
namespace {

constexpr std::int64_t block_elements = 32768;

KOKKOS_INLINE_FUNCTION std::int64_t blocks_of(std::int64_t elements) {
  return launch::ceiling_quotient(elements, block_elements);
}

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

void sum_blocks(const Execution& exec, const SummedTensor* tensors, std::int64_t count, std::int64_t blocks,
                double* sums) {
  for_each_row(
      exec, "sum_of_squares", blocks, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        std::int64_t found = 0;
        for (std::int64_t end = count; end - found > 1;) {
          const std::int64_t middle = found + (end - found) / 2;
          (tensors[middle].first_block <= index ? found : end) = middle;
        }
        const SummedTensor part = tensors[found];
        const std::int64_t first = (index - part.first_block) * block_elements;
        const std::int64_t length = launch::smaller(block_elements, part.count - first);
        const double sum =
            part.type == DType::fp32
                ? block_sum_of_squares(row, static_cast<const float*>(part.elements) + first, length)
            : part.type == DType::bf16
                ? block_sum_of_squares(row, static_cast<const bfloat16*>(part.elements) + first, length)
                : block_sum_of_squares(row, static_cast<const half*>(part.elements) + first, length);
        row.once([=]() { sums[index] = sum; });
      });
}

void add_blocks(const Execution& exec, const SummedTensor* tensors, std::int64_t count, const double* sums,
                double* results) {
  for_each_row(
      exec, "add_blocks", count, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const double* const blocks = sums + tensors[index].first_block;
        const double total =
            row.sum(blocks_of(tensors[index].count), [=](std::int64_t i) { return blocks[i]; });
        row.once([=]() { results[index] = total; });
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

SumsOfSquares::SumsOfSquares(std::span<const Tensor> tensors)
    : tensors_(make_device_array<SummedTensor>("summed tensors", tensors.size())) {
  const auto summed = view_of(tensors_);
  const auto on_host = Kokkos::create_mirror_view(summed);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    on_host(i) = {tensors[i].data(), tensors[i].size(), blocks_, tensors[i].type()};
    blocks_ += blocks_of(tensors[i].size());
  }
  Kokkos::deep_copy(summed, on_host);
  partial_sums_ = Arena("partial sums", aligned_bytes(static_cast<std::size_t>(blocks_) * sizeof(double)));
}

std::size_t SumsOfSquares::memory_bytes(std::span<const std::int64_t> lengths) {
  std::int64_t blocks = 0;
  for (const std::int64_t length : lengths) blocks += blocks_of(length);
  return view_bytes(lengths.size() * sizeof(SummedTensor)) +
         aligned_bytes(static_cast<std::size_t>(blocks) * sizeof(double));
}

void SumsOfSquares::run(const Execution& exec, double* results) const {
  const auto count = static_cast<std::int64_t>(tensors_.size());
  auto* const sums = reinterpret_cast<double*>(partial_sums_.data());
  sum_blocks(exec, tensors_.data(), count, blocks_, sums);
  add_blocks(exec, tensors_.data(), count, sums, results);
}

void first_nonfinite(const Execution& exec, const ConstTensor& tensor, std::int64_t* index) {
  dispatch(tensor.type(), [&](auto tag) {
    find_first_nonfinite(exec, tensor.as<typename decltype(tag)::type>(), tensor.size(), index);
  });
}

namespace {

template <class T>
void add_by_tree(const Execution& exec, int parts, std::int64_t numbers, const T* from, T* to,
                 bool accumulate) {
  for_each_index(
      exec, "add by tree", numbers, KOKKOS_LAMBDA(const std::int64_t i) {
        const T sum = sum_by_tree<T>(parts, [&](int part) { return from[part * numbers + i]; });
        to[i] = accumulate ? to[i] + sum : sum;
      });
}

}  // namespace

void add_rows_by_tree(const Execution& exec, const ConstTensor& parts, const Tensor& sum, bool accumulate) {
  const auto count = static_cast<int>(parts.rows());
  if (parts.type() == DType::fp64) {
    add_by_tree(exec, count, parts.columns(), parts.as<double>(), sum.as<double>(), accumulate);
  } else {
    add_by_tree(exec, count, parts.columns(), parts.as<float>(), sum.as<float>(), accumulate);
  }
}

}  // namespace mylos
