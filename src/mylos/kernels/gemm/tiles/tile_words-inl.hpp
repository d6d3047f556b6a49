// Operands of the tile kernel: words of 32 bits. A step multiplies one word of A by a vector of words of B.
//
// A word is a float, or a pair of neighbouring bfloat16 if the processor multiplies such pairs (AVX512-BF16,
// which flushes subnormal numbers to zero). Other elements are converted to float when they are packed.
#include <type_traits>

#include "mylos/base/float16.hpp"

#if defined(MYLOS_KERNELS_TILE_WORDS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_TILE_WORDS_INL_HPP
#undef MYLOS_KERNELS_TILE_WORDS_INL_HPP
#else
#define MYLOS_KERNELS_TILE_WORDS_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/launch/vector_values-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

using Floats = hn::Vec<FloatTag>;
using BitsTag = hn::RebindToUnsigned<FloatTag>;

/// Returns the lanes of a vector of floats or words.
HWY_INLINE HWY_LANES_CONSTEXPR std::int64_t lanes() {
  return static_cast<std::int64_t>(hn::Lanes(FloatTag()));
}

/// Loads the first `valid` values at `from` (none if negative) and sets the other lanes to zero.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_at_most(D d, const T* from, std::int64_t valid) {
  if (valid >= static_cast<std::int64_t>(hn::Lanes(d))) return load(d, from);
  return valid > 0 ? load(d, from, SomeLanes{static_cast<std::size_t>(valid)}) : hn::Zero(d);
}

struct FloatWords {
  using Element = float;
  using Word = float;
  using Tag = FloatTag;
  static constexpr std::int64_t per_word = 1;
  static constexpr Word ones = 1.0f;

  /// Returns sum + a b, lane by lane.
  static HWY_INLINE Floats multiply_add(Word a, hn::Vec<Tag> b, Floats sum) {
    return hn::MulAdd(hn::Set(FloatTag(), a), b, sum);
  }
  /// Loads words from at most the first `valid` elements of a row; the rest is zero.
  template <class T>
  static HWY_INLINE hn::Vec<Tag> load_row(const T* from, std::int64_t valid) {
    return load_at_most(FloatTag(), from, valid);
  }
  /// Loads one word for each of the columns of one row.
  template <class T>
  static HWY_INLINE hn::Vec<Tag> load_columns(const T* row, const T* /*below*/, std::int64_t valid) {
    return load_at_most(FloatTag(), row, valid);
  }
};

#if HWY_NATIVE_DOT_BF16
struct Bfloat16Words {
  using Element = bfloat16;
  using Word = std::uint32_t;
  using Tag = BitsTag;
  using ElementTag = hn::Repartition<hwy::bfloat16_t, FloatTag>;
  static constexpr std::int64_t per_word = 2;
  static constexpr Word ones = 0x3f803f80;

  static HWY_INLINE Floats multiply_add(Word a, hn::Vec<Tag> b, Floats sum) {
    Floats no_second = hn::Zero(FloatTag());  // the processor adds in order
    return hn::ReorderWidenMulAccumulate(FloatTag(), hn::BitCast(ElementTag(), hn::Set(Tag(), a)),
                                         hn::BitCast(ElementTag(), b), sum, no_second);
  }
  static HWY_INLINE hn::Vec<Tag> load_row(const bfloat16* from, std::int64_t valid) {
    const auto all = static_cast<std::int64_t>(hn::Lanes(ElementTag()));
    if (valid >= all) return hn::BitCast(Tag(), hn::LoadU(ElementTag(), elements(from)));
    if (valid <= 0) return hn::Zero(Tag());
    return hn::BitCast(Tag(), hn::LoadN(ElementTag(), elements(from), static_cast<std::size_t>(valid)));
  }
  /// Loads pairs from one row and the row below it, which is null after the last row.
  static HWY_INLINE hn::Vec<Tag> load_columns(const bfloat16* row, const bfloat16* below,
                                              std::int64_t valid) {
    return pair(load_bits(row, valid), below == nullptr ? hn::Zero(Tag()) : load_bits(below, valid));
  }
  /// Combines two vectors whose low bits hold the halves of the words.
  static HWY_INLINE hn::Vec<Tag> pair(hn::Vec<Tag> low, hn::Vec<Tag> high) {
    return hn::Or(low, hn::ShiftLeft<16>(high));
  }

 private:
  static HWY_INLINE hn::Vec<Tag> load_bits(const bfloat16* from, std::int64_t valid) {
    const hn::Rebind<std::uint16_t, Tag> half;
    const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
    if (valid >= lanes()) return hn::PromoteTo(Tag(), hn::LoadU(half, bits));
    return hn::PromoteTo(Tag(), hn::LoadN(half, bits, static_cast<std::size_t>(valid)));
  }
};
#else
using Bfloat16Words = FloatWords;
#endif

/// The words that operands of type T are multiplied as.
template <class T>
using WordsOf =
    std::conditional_t<std::is_same_v<std::remove_const_t<T>, bfloat16>, Bfloat16Words, FloatWords>;

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
