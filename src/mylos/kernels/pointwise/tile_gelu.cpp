#include "mylos/kernels/pointwise/tile_gelu.hpp"

#include "mylos/base/vector/vector_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mylos/kernels/pointwise/tile_gelu.cpp"
#include <hwy/foreach_target.h>
// The macro above makes Highway include the rest of this file once per target.
#include <hwy/highway.h>

#include "mylos/kernels/launch/binary_powers-inl.hpp"
#include "mylos/kernels/launch/vector_values-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {
namespace {

/// Returns 1 / x with a relative error of at most 2^-14.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V coarse_reciprocal(D d, V x) {
  constexpr bool is_avx512 = HWY_TARGET <= HWY_AVX3;  // the approximations of other targets have 8 to 12 bits
  if constexpr (is_avx512) {
    return hn::ApproximateReciprocal(x);
  } else {
    return hn::Div(hn::Set(d, 1.0f), x);
  }
}

/// Returns (1 + tanh(u)) / 2 of GeluTanhTerms with a relative error of at most 7e-5, if it is at least
/// 2^-126.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V logistic(D d, V x, V square) {
  constexpr float linear = -GeluTanhTerms::log2_e * GeluTanhTerms::slope;
  const V exponent =
      hn::Mul(x, hn::MulAdd(hn::Set(d, linear * GeluTanhTerms::cubic), square, hn::Set(d, linear)));
  return coarse_reciprocal(d, hn::Add(coarse_exp2(d, exponent), hn::Set(d, 1.0f)));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V value(D d, V x) {
  return hn::Mul(x, logistic(d, x, hn::Mul(x, x)));
}

/// Returns the derivative of x (1 + tanh(u)) / 2. It is computed at -|x|, where the logistic function and its
/// error are small; the derivative minus 1/2 is odd.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V derivative(D d, V x) {
  constexpr float slope = GeluTanhTerms::slope;
  const V half = hn::Set(d, 0.5f);
  const V left = hn::Neg(hn::Abs(x));
  const V square = hn::Mul(x, x);
  const V s = logistic(d, left, square);
  const V growth = hn::MulAdd(hn::Set(d, 3 * slope * GeluTanhTerms::cubic), square, hn::Set(d, slope));
  // From |x| = 10 on this is 0, and its factors may be infinite.
  const V changing = hn::Mul(hn::Mul(left, growth), hn::NegMulAdd(s, s, s));
  const V at_left = hn::Add(s, hn::IfThenZeroElse(hn::Gt(square, hn::Set(d, 100.0f)), changing));
  return hn::Add(half, hn::CopySign(hn::Sub(half, at_left), x));
}

template <class T>
void forward(const T* x, std::int64_t count, T* y) {
  for_each_vector(count, [=](auto d, std::int64_t i, auto lanes)
                             HWY_ATTR { store(d, value(d, load(d, x + i, lanes)), y + i, lanes); });
}

template <class T>
void backward(const T* x, const T* dy, std::int64_t count, T* dx) {
  for_each_vector(count, [=](auto d, std::int64_t i, auto lanes) HWY_ATTR {
    const auto slope = derivative(d, load(d, x + i, lanes));
    store(d, hn::Mul(load(d, dy + i, lanes), slope), dx + i, lanes);
  });
}

template <class T>
void backward_with_values(const T* x, const T* dy, std::int64_t count, T* dx, float* values) {
  backward(x, dy, count, dx);
  for_each_vector(count, [=](auto d, std::int64_t i, auto lanes)
                             HWY_ATTR { store(d, load(d, dx + i, lanes), values + i, lanes); });
}

}  // namespace
}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mylos::host_tile {

template <class T>
void gelu_tanh(const T* x, std::int64_t count, T* y) {
  HWY_EXPORT_AND_DYNAMIC_DISPATCH_T(forward<T>)(x, count, y);
}
template <class T>
void gelu_tanh_backward(const T* x, const T* dy, std::int64_t count, T* dx) {
  HWY_EXPORT_AND_DYNAMIC_DISPATCH_T(backward<T>)(x, dy, count, dx);
}
template <class T>
void gelu_tanh_backward(const T* x, const T* dy, std::int64_t count, T* dx, float* values) {
  HWY_EXPORT_AND_DYNAMIC_DISPATCH_T(backward_with_values<T>)(x, dy, count, dx, values);
}

template void gelu_tanh(const half*, std::int64_t, half*);
template void gelu_tanh(const bfloat16*, std::int64_t, bfloat16*);
template void gelu_tanh_backward(const half*, const half*, std::int64_t, half*);
template void gelu_tanh_backward(const bfloat16*, const bfloat16*, std::int64_t, bfloat16*);
template void gelu_tanh_backward(const half*, const half*, std::int64_t, half*, float*);
template void gelu_tanh_backward(const bfloat16*, const bfloat16*, std::int64_t, bfloat16*, float*);

}  // namespace mylos::host_tile
#endif
