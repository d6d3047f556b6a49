// Powers of two in vectors of floats, in the namespace of each Highway target.
//
// x = n + f with |f| <= 1/2: the exponent bits give 2^n, a polynomial gives 2^f.
#if defined(MYLOS_KERNELS_BINARY_POWERS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_BINARY_POWERS_INL_HPP
#undef MYLOS_KERNELS_BINARY_POWERS_INL_HPP
#else
#define MYLOS_KERNELS_BINARY_POWERS_INL_HPP
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Writes 2^n to `power` and f to the result, for -127.5 < x < 128.5. 2^-127 is treated as 0, 2^128 is
/// infinity.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V split_exponent(D d, V x, V& power) {
  // 1.5 * 2^23 makes the sum's low bits the rounded integer, and 127 makes them the exponent bits of 2^n.
  const V round_to_exponent = hn::Set(d, 12582912.0f + 127.0f);
  const V shifted = hn::Add(x, round_to_exponent);
  power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(hn::RebindToUnsigned<D>(), shifted)));
  return hn::Sub(x, hn::Sub(shifted, round_to_exponent));
}

/// Returns 2^x for x < 127, within two units in the last place; 0 below -126; NaN for NaN. Uses the series of
/// kernels/launch/math.hpp.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2(D d, V x) {
  V power;
  const V f = split_exponent(d, x, power);
  V series = hn::MulAdd(hn::Set(d, 1.535336188e-04f), f, hn::Set(d, 1.339887444e-03f));
  series = hn::MulAdd(series, f, hn::Set(d, 9.618437358e-03f));
  series = hn::MulAdd(series, f, hn::Set(d, 5.550332471e-02f));
  series = hn::MulAdd(series, f, hn::Set(d, 2.402264791e-01f));
  series = hn::MulAdd(series, f, hn::Set(d, 6.931472029e-01f));
  series = hn::MulAdd(series, f, hn::Set(d, 1.0f));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -126.0f)), hn::Mul(series, power));
}

/// Returns 2^x for any x with a relative error of at most 3e-6; 0 below -126.5, infinity from 127.5 on. The
/// result for NaN is unspecified. The series was computed for this file.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V coarse_exp2(D d, V x) {
  V power;
  const V f = split_exponent(d, hn::Min(hn::Max(x, hn::Set(d, -127.0f)), hn::Set(d, 128.0f)), power);
  V series = hn::MulAdd(hn::Set(d, 9.5701022e-03f), f, hn::Set(d, 5.5917859e-02f));
  series = hn::MulAdd(series, f, hn::Set(d, 2.4024744e-01f));
  series = hn::MulAdd(series, f, hn::Set(d, 6.9312179e-01f));
  series = hn::MulAdd(series, f, hn::Set(d, 9.9999928e-01f));
  return hn::Mul(series, power);
}

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
