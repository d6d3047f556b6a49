// What both passes of attention on hosts share: the rows of a head, their results, the scale of the scores.
#include <cmath>
#include <cstdint>

#include "mylos/kernels/attention/attention.hpp"

#if defined(MYLOS_KERNELS_ATTENTION_HEADS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_ATTENTION_HEADS_INL_HPP
#undef MYLOS_KERNELS_ATTENTION_HEADS_INL_HPP
#else
#define MYLOS_KERNELS_ATTENTION_HEADS_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/attention/head_panels-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

/// Returns the rows of one head (counted over all samples) in a matrix of `columns` columns. q, k and v are
/// parts 0, 1 and 2 of qkv.
template <class T>
HeadRows<T> rows_of_head(const AttentionShape& shape, T* matrix, std::int64_t columns, std::int64_t head,
                         std::int64_t part = 0) {
  T* first = matrix + head / shape.heads * shape.length * columns + part * shape.width() +
             head % shape.heads * shape.head_width;
  return {first, columns, shape.length, shape.head_width};
}

/// Writes target[row, c] = factor * sums[row, c] for `rows` rows from `first_row` on, rounded once. The rows
/// of the first tile should have been prefetched.
template <class T>
void store_rows(const float* sums, std::int64_t stride, float factor, const HeadRows<T>& target,
                std::int64_t first_row, std::int64_t rows) {
  const std::int64_t end = std::min(first_row + rows, target.rows);
  for (std::int64_t row = first_row; row < end; ++row) {
    if ((row - first_row) % tile_rows() == 0 && row + tile_rows() < end)
      prefetch_rows(target, row + tile_rows());
    const float* from = sums + (row - first_row) * stride;
    T* to = target.first + row * target.stride;
    for_each_vector(target.columns, [=](auto d, std::int64_t c, auto lanes) HWY_ATTR {
      store(d, hn::Mul(load(d, from + c), hn::Set(d, factor)), to + c, lanes);
    });
  }
}

/// Returns scale log2(e), for a softmax in powers of two: e^(scale x) = 2^(binary_scale x).
inline float binary_scale(const AttentionShape& shape) {
  return static_cast<float>(1.4426950408889634 / std::sqrt(static_cast<double>(shape.head_width)));
}

/// Returns the lanes of a vector that are in memory, and `other` in the remaining lanes.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V first_lanes(D, V value, AllLanes, V) {
  return value;
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V first_lanes(D d, V value, SomeLanes lanes, V other) {
  return hn::IfThenElse(hn::FirstN(d, lanes.count), value, other);
}

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
