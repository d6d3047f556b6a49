#include "mylos/kernels/launch/convert_stream.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "mylos/base/vector/vector_targets.hpp"
#include "mylos/kernels/launch/converted_value.hpp"
#include "mylos/kernels/launch/launch.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mylos/kernels/launch/convert_stream.cpp"
#include <hwy/foreach_target.h>
// The macro above makes Highway include the rest of this file once per target.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "mylos/kernels/launch/vector_values-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {
namespace {

/// Clamps infinity and larger numbers to the largest finite number; NaN stays NaN.
template <class To, class D>
HWY_INLINE hn::Vec<D> saturated(D d, hn::Vec<D> value) {
  const auto largest = hn::Set(d, largest_of<To>);
  const auto is_beyond = hn::Gt(hn::Abs(value), largest);
  return hn::IfThenElse(is_beyond, hn::CopySign(largest, value), value);
}

/// A vector of unsigned integers of T's size, with the number of lanes of D.
template <class T, class D>
using BitsFor = hn::Rebind<hwy::UnsignedFromSize<sizeof(T)>, D>;

template <class To, class D>
HWY_INLINE hn::Vec<BitsFor<To, D>> rounded_bits([[maybe_unused]] D d, hn::Vec<D> value) {
  const BitsFor<To, D> bits;
  if constexpr (std::is_same_v<To, float>) {
    return hn::BitCast(bits, value);
  } else if constexpr (std::is_same_v<To, half>) {
    return hn::BitCast(bits, rounded_to<To>(d, value));
  } else {
    // Same algorithm as float16::bfloat16_bits: AVX512-BF16 flushes subnormal numbers to zero.
    const hn::RebindToUnsigned<D> wide;
    const auto exact = hn::BitCast(wide, value);
    const auto odd = hn::And(hn::ShiftRight<16>(exact), hn::Set(wide, 1));
    const auto rounded = hn::Add(hn::Add(exact, hn::Set(wide, 0x7fff)), odd);
    const auto quiet = hn::Or(exact, hn::Set(wide, 0x400000));
    const auto result = hn::IfThenElse(hn::RebindMask(wide, hn::IsNaN(value)), quiet, rounded);
    return hn::TruncateTo(bits, hn::ShiftRight<16>(result));
  }
}

/// Clamps the bits of To's elements. Only infinity is larger than the largest number of its own type.
template <class To, class D>
HWY_INLINE hn::Vec<D> saturated_bits(D bits, hn::Vec<D> element) {
  using Word = hn::TFromD<D>;
  constexpr FloatLayout layout = layout_of(dtype_of<To>);
  constexpr Word infinity =
      static_cast<Word>(((Word{1} << layout.exponent_bits) - 1) << layout.fraction_bits);
  constexpr Word sign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
  const auto is_infinite = hn::Eq(hn::AndNot(hn::Set(bits, sign), element), hn::Set(bits, infinity));
  return hn::IfThenElse(is_infinite, hn::Sub(element, hn::Set(bits, Word{1})), element);
}

/// Converts element by element.
template <class Conversion>
void convert_some(const typename Conversion::From* from, std::int64_t count, typename Conversion::To* to) {
  simd_for(0, count, [=](std::int64_t i) {
    to[i] = converted<typename Conversion::To, Conversion::overflow>(from[i]);
  });
}

/// Converts a vector of elements. Equal types are copied bit by bit, including NaN payloads.
template <class Conversion, class D>
HWY_INLINE hn::Vec<D> converted_bits(D bits, const typename Conversion::From* from) {
  using From = typename Conversion::From;
  using To = typename Conversion::To;
  const FloatTag d;
  const auto floats = [d](const From* first) HWY_ATTR {
    const auto value = load(d, first);
    if constexpr (Conversion::overflow == Overflow::saturate) {
      return saturated<To>(d, value);
    } else {
      return value;
    }
  };
  if constexpr (std::is_same_v<From, To> && Conversion::overflow == Overflow::infinite) {
    return hn::LoadU(bits, reinterpret_cast<const hn::TFromD<D>*>(from));
  } else if constexpr (std::is_same_v<From, To>) {
    return saturated_bits<To>(bits, hn::LoadU(bits, reinterpret_cast<const hn::TFromD<D>*>(from)));
  } else if constexpr (std::is_same_v<To, float>) {
    return rounded_bits<To>(d, floats(from));
  } else {
    return hn::Combine(bits, rounded_bits<To>(d, floats(from + hn::Lanes(d))),
                       rounded_bits<To>(d, floats(from)));
  }
}

/// Writes whole cache lines past the caches and prefetches the lines to be read.
template <class Conversion>
void stream_elements(const typename Conversion::From* from, typename Conversion::To* to, std::int64_t count) {
  using From = typename Conversion::From;
  using To = typename Conversion::To;
  constexpr std::uintptr_t line_bytes = 64;
  constexpr std::uintptr_t prefetch_distance = 2048;  // bytes; increases the speed by a sixth on Ice Lake
  const hn::ScalableTag<hwy::UnsignedFromSize<sizeof(To)>> bits;
  const auto vector = static_cast<std::int64_t>(hn::Lanes(bits));
  const std::int64_t block = std::max(vector, static_cast<std::int64_t>(line_bytes / sizeof(To)));
  const std::uintptr_t past_line = reinterpret_cast<std::uintptr_t>(to) % line_bytes;
  const std::uintptr_t before_line = (line_bytes - past_line) % line_bytes / sizeof(To);
  std::int64_t done = std::min(count, static_cast<std::int64_t>(before_line));
  convert_some<Conversion>(from, done, to);
  for (; done + block <= count; done += block) {
    const auto* next = reinterpret_cast<const std::byte*>(from + done) + prefetch_distance;
    for (std::uintptr_t byte = 0; byte < static_cast<std::uintptr_t>(block) * sizeof(From);
         byte += line_bytes)
      hwy::Prefetch(next + byte);
    for (std::int64_t i = done; i < done + block; i += vector)
      hn::Stream(converted_bits<Conversion>(bits, from + i), bits,
                 reinterpret_cast<hn::TFromD<decltype(bits)>*>(to + i));
  }
  convert_some<Conversion>(from + done, count - done, to + done);
  hwy::FlushStream();
}

}  // namespace
}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mylos {
namespace {

/// Results of at least this size are streamed, because they would evict everything else from the caches.
constexpr std::size_t streamed_bytes = std::size_t{8} << 20;

template <class FromType, class ToType, Overflow of_large>
struct Conversion {
  using From = FromType;
  using To = ToType;
  static constexpr Overflow overflow = of_large;
};

template <class Kind>
void convert_as(const Execution& exec, const ConstTensor& from_tensor, const Tensor& to_tensor) {
  HWY_EXPORT_T(stream_table, stream_elements<Kind>);
  const auto* from = static_cast<const typename Kind::From*>(from_tensor.data());
  auto* to = static_cast<typename Kind::To*>(to_tensor.data());
  const auto stream = HWY_DYNAMIC_POINTER_T(stream_table);
  for_each_block(exec, "convert", to_tensor.size(), 65536, [=](std::int64_t begin, std::int64_t end) {
    stream(from + begin, to + begin, end - begin);
  });
}

}  // namespace

bool convert_streamed(const Execution& exec, const ConstTensor& from, const Tensor& to, Overflow overflow) {
  if (to.bytes() < streamed_bytes) return false;
  dispatch(from.type(), [&](auto from_type) {
    dispatch(to.type(), [&](auto to_type) {
      using From = typename decltype(from_type)::type;
      using To = typename decltype(to_type)::type;
      if (overflow == Overflow::saturate) {
        convert_as<Conversion<From, To, Overflow::saturate>>(exec, from, to);
      } else {
        convert_as<Conversion<From, To, Overflow::infinite>>(exec, from, to);
      }
    });
  });
  return true;
}

}  // namespace mylos
#endif
