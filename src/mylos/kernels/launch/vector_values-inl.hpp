// Converts elements of any type to vectors of floats and back, in the namespace of each Highway target.
//
// Conversions use processor instructions where they exist. They round to nearest even and preserve infinity
// and NaN; those of AVX512-BF16 flush subnormal numbers to zero.
#include <cstdint>
#include <type_traits>

#include "mylos/base/float16.hpp"

#if defined(MYLOS_KERNELS_VECTOR_VALUES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_VECTOR_VALUES_INL_HPP
#undef MYLOS_KERNELS_VECTOR_VALUES_INL_HPP
#else
#define MYLOS_KERNELS_VECTOR_VALUES_INL_HPP
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;

/// Highway's element type for T.
template <class T>
struct ElementOf;
template <>
struct ElementOf<float> {
  using type = float;
};
template <>
struct ElementOf<half> {
  using type = hwy::float16_t;
};
template <>
struct ElementOf<bfloat16> {
  using type = hwy::bfloat16_t;
};
template <class T, class D>
using TagFor = hn::Rebind<typename ElementOf<T>::type, D>;

template <class T>
HWY_INLINE const typename ElementOf<T>::type* elements(const T* values) {
  return reinterpret_cast<const typename ElementOf<T>::type*>(values);
}
template <class T>
HWY_INLINE typename ElementOf<T>::type* elements(T* values) {
  return reinterpret_cast<typename ElementOf<T>::type*>(values);
}

/// Says that all lanes of a vector are in memory.
struct AllLanes {};
/// Says that only the first `count` >= 1 lanes are in memory.
struct SomeLanes {
  std::size_t count;
};

// Without processor conversions, Highway's code for half treats infinity and NaN as numbers from 65536 on,
// and its NaN bits differ from those of float16.hpp.
constexpr bool converts_half = HWY_TARGET != HWY_SSE2;

template <class D>
HWY_INLINE hn::Vec<D> to_floats(D d, hn::Vec<TagFor<half, D>> from) {
  const auto value = hn::PromoteTo(d, from);
  if constexpr (converts_half) return value;
  const hn::RebindToUnsigned<D> wide;
  const auto size = hn::Abs(value);
  const auto limit = hn::Set(d, 65536.0f);
  const auto infinite = hn::BitCast(d, hn::Set(wide, 0x7f800000u));
  const auto quiet_nan = hn::BitCast(d, hn::Set(wide, 0x7fc00000u));
  const auto finite_or_infinite = hn::IfThenElse(hn::Eq(size, limit), hn::Or(value, infinite), value);
  return hn::IfThenElse(hn::Gt(size, limit), hn::Or(value, quiet_nan), finite_or_infinite);
}
template <class D>
HWY_INLINE hn::Vec<D> to_floats(D d, hn::Vec<TagFor<bfloat16, D>> from) {
  return hn::PromoteTo(d, from);
}

template <class T, class D>
HWY_INLINE hn::Vec<TagFor<T, D>> rounded_to([[maybe_unused]] D d, hn::Vec<D> value) {
  const TagFor<T, D> d_to;
  const auto rounded = hn::DemoteTo(d_to, value);
  if constexpr (converts_half || !std::is_same_v<T, half>) {
    return rounded;
  } else {
    const hn::RebindToUnsigned<D> wide;
    const hn::Rebind<std::uint16_t, D> narrow;
    const auto bits = hn::BitCast(wide, value);
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(wide, 0x8000u));
    const auto payload = hn::And(hn::ShiftRight<13>(bits), hn::Set(wide, 0x03ffu));
    const auto nan = hn::Or(hn::Or(sign, payload), hn::Set(wide, 0x7e00u));
    const auto number = hn::PromoteTo(wide, hn::BitCast(narrow, rounded));
    const auto is_nan = hn::RebindMask(wide, hn::IsNaN(value));
    return hn::BitCast(d_to, hn::TruncateTo(narrow, hn::IfThenElse(is_nan, nan, number)));
  }
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* from, AllLanes = {}) {
  return hn::LoadU(d, from);
}
template <class D, class T>
HWY_INLINE hn::Vec<D> load(D d, const T* from, AllLanes = {}) {
  return to_floats(d, hn::LoadU(TagFor<T, D>(), elements(from)));
}
/// Sets the other lanes to zero and does not read their memory.
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* from, SomeLanes some) {
  return hn::LoadN(d, from, some.count);
}
template <class D, class T>
HWY_INLINE hn::Vec<D> load(D d, const T* from, SomeLanes some) {
  return to_floats(d, hn::LoadN(TagFor<T, D>(), elements(from), some.count));
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, float* to, AllLanes = {}) {
  hn::StoreU(value, d, to);
}
template <class D, class T>
HWY_INLINE void store(D d, hn::Vec<D> value, T* to, AllLanes = {}) {
  const TagFor<T, D> d_to;
  hn::StoreU(rounded_to<T>(d, value), d_to, elements(to));
}
template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, float* to, SomeLanes some) {
  hn::StoreN(value, d, to, some.count);
}
template <class D, class T>
HWY_INLINE void store(D d, hn::Vec<D> value, T* to, SomeLanes some) {
  const TagFor<T, D> d_to;
  hn::StoreN(rounded_to<T>(d, value), d_to, elements(to), some.count);
}

/// Calls body(d, i, lanes) for vectors at i = 0, N, 2 N ... of `count` values. `lanes` is AllLanes; at the
/// end it may be SomeLanes.
template <class Body>
HWY_INLINE void for_each_vector(std::int64_t count, const Body& body) {
  const FloatTag d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + width <= count; i += width) body(d, i, AllLanes{});
  if (i < count) body(d, i, SomeLanes{static_cast<std::size_t>(count - i)});
}

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
