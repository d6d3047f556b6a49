#include "mylos/kernels/launch/row_sums.hpp"

#include <utility>

#include "mylos/base/vector/vector_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mylos/kernels/launch/row_sums.cpp"
#include <hwy/foreach_target.h>
// The macro above makes Highway include the rest of this file once per target.
#include <hwy/highway.h>

#include "mylos/kernels/launch/vector_values-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {
namespace {

/// Returns the sum of what add(d, column, lanes, sum) adds to a vector of sums, over all columns. Four
/// independent vectors of sums hide the latency of additions.
template <class Add>
HWY_INLINE float sum_over(std::int64_t columns, const Add& add) {
  const FloatTag d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto sum2 = hn::Zero(d);
  auto sum3 = hn::Zero(d);
  std::int64_t c = 0;
  for (; c + 4 * width <= columns; c += 4 * width) {
    add(d, c, AllLanes{}, sum0);
    add(d, c + width, AllLanes{}, sum1);
    add(d, c + 2 * width, AllLanes{}, sum2);
    add(d, c + 3 * width, AllLanes{}, sum3);
  }
  for (; c + width <= columns; c += width) add(d, c, AllLanes{}, sum0);
  if (c < columns) add(d, c, SomeLanes{static_cast<std::size_t>(columns - c)}, sum0);
  return hn::ReduceSum(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)));
}

template <class D, class V>
HWY_INLINE V zero_beyond(D, V value, AllLanes) {
  return value;
}
template <class D, class V>
HWY_INLINE V zero_beyond(D d, V value, SomeLanes lanes) {
  return hn::IfThenElseZero(hn::FirstN(d, lanes.count), value);
}

template <class T>
float row_sum(const T* x, std::int64_t columns) {
  return sum_over(columns, [=](auto d, std::int64_t c, auto lanes, auto& sum)
                               HWY_ATTR { sum = hn::Add(sum, load(d, x + c, lanes)); });
}

template <class T>
float row_sum_of_squares(const T* x, float mean, std::int64_t columns) {
  return sum_over(columns, [=](auto d, std::int64_t c, auto lanes, auto& sum) HWY_ATTR {
    const auto deviation = zero_beyond(d, hn::Sub(load(d, x + c, lanes), hn::Set(d, mean)), lanes);
    sum = hn::MulAdd(deviation, deviation, sum);
  });
}

/// `Types`: a pair of element type and weight type.
template <class Types>
GradientSums row_gradient_sums(const typename Types::first_type* x, const typename Types::first_type* dy,
                               const typename Types::second_type* weight, float mean, float rstd,
                               std::int64_t columns) {
  const FloatTag d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  auto gradient0 = hn::Zero(d);
  auto gradient1 = hn::Zero(d);
  auto normalized0 = hn::Zero(d);
  auto normalized1 = hn::Zero(d);
  const auto add = [=](std::int64_t c, auto lanes, auto& gradient, auto& normalized) HWY_ATTR {
    const auto g = hn::Mul(load(d, dy + c, lanes), load(d, weight + c, lanes));
    const auto n = hn::Mul(hn::Sub(load(d, x + c, lanes), hn::Set(d, mean)), hn::Set(d, rstd));
    gradient = hn::Add(gradient, g);
    normalized = hn::MulAdd(g, n, normalized);
  };
  std::int64_t c = 0;
  for (; c + 2 * width <= columns; c += 2 * width) {
    add(c, AllLanes{}, gradient0, normalized0);
    add(c + width, AllLanes{}, gradient1, normalized1);
  }
  for (; c + width <= columns; c += width) add(c, AllLanes{}, gradient0, normalized0);
  if (c < columns) add(c, SomeLanes{static_cast<std::size_t>(columns - c)}, gradient0, normalized0);
  return {hn::ReduceSum(d, hn::Add(gradient0, gradient1)),
          hn::ReduceSum(d, hn::Add(normalized0, normalized1))};
}

/// Processes four rows at a time, so that the sums are read and written a quarter as often.
template <class T>
void add_rows_to(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sums) {
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const T* from = x + row * stride;
    for_each_vector(columns, [=](auto d, std::int64_t c, auto lanes) HWY_ATTR {
      auto sum = load(d, sums + c, lanes);
      sum = hn::Add(sum, load(d, from + c, lanes));
      sum = hn::Add(sum, load(d, from + c + stride, lanes));
      sum = hn::Add(sum, load(d, from + c + 2 * stride, lanes));
      sum = hn::Add(sum, load(d, from + c + 3 * stride, lanes));
      store(d, sum, sums + c, lanes);
    });
  }
  for (; row < rows; ++row) {
    const T* from = x + row * stride;
    for_each_vector(columns, [=](auto d, std::int64_t c, auto lanes) HWY_ATTR {
      store(d, hn::Add(load(d, sums + c, lanes), load(d, from + c, lanes)), sums + c, lanes);
    });
  }
}

}  // namespace
}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mylos::host_row {

template <class T>
float sum(const T* x, std::int64_t columns) {
  HWY_EXPORT_T(sum_table, row_sum<T>);
  return HWY_DYNAMIC_DISPATCH_T(sum_table)(x, columns);
}
template <class T>
float sum_of_squares(const T* x, float mean, std::int64_t columns) {
  HWY_EXPORT_T(square_table, row_sum_of_squares<T>);
  return HWY_DYNAMIC_DISPATCH_T(square_table)(x, mean, columns);
}
template <class T, class W>
GradientSums gradient_sums(const T* x, const T* dy, const W* weight, float mean, float rstd,
                           std::int64_t columns) {
  using Types = std::pair<T, W>;
  HWY_EXPORT_T(gradient_table, row_gradient_sums<Types>);
  return HWY_DYNAMIC_DISPATCH_T(gradient_table)(x, dy, weight, mean, rstd, columns);
}
template <class T>
void add_rows(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sums) {
  HWY_EXPORT_AND_DYNAMIC_DISPATCH_T(add_rows_to<T>)(x, stride, rows, columns, sums);
}

template void add_rows(const float*, std::int64_t, std::int64_t, std::int64_t, float*);
template void add_rows(const half*, std::int64_t, std::int64_t, std::int64_t, float*);
template void add_rows(const bfloat16*, std::int64_t, std::int64_t, std::int64_t, float*);
template float sum(const float*, std::int64_t);
template float sum(const half*, std::int64_t);
template float sum(const bfloat16*, std::int64_t);
template float sum_of_squares(const float*, float, std::int64_t);
template float sum_of_squares(const half*, float, std::int64_t);
template float sum_of_squares(const bfloat16*, float, std::int64_t);
template GradientSums gradient_sums(const float*, const float*, const float*, float, float, std::int64_t);
template GradientSums gradient_sums(const half*, const half*, const float*, float, float, std::int64_t);
template GradientSums gradient_sums(const bfloat16*, const bfloat16*, const float*, float, float,
                                    std::int64_t);
template GradientSums gradient_sums(const float*, const float*, const half*, float, float, std::int64_t);
template GradientSums gradient_sums(const half*, const half*, const half*, float, float, std::int64_t);
template GradientSums gradient_sums(const bfloat16*, const bfloat16*, const half*, float, float,
                                    std::int64_t);
template GradientSums gradient_sums(const float*, const float*, const bfloat16*, float, float, std::int64_t);
template GradientSums gradient_sums(const half*, const half*, const bfloat16*, float, float, std::int64_t);
template GradientSums gradient_sums(const bfloat16*, const bfloat16*, const bfloat16*, float, float,
                                    std::int64_t);

}  // namespace mylos::host_row
#endif
