// Sixteen floats at a time on the host: loads and stores that convert.
//
// GCC's and Clang's vector types are lowered to whatever the processor has, so this is plain code without
// intrinsics, except for half and for loads of bfloat16, whose instructions the compilers do not find by
// themselves.
#pragma once

#if defined(__F16C__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

#include "mylos/base/float16.hpp"
#include "stream.hpp"

namespace mylos::lanes {

inline constexpr int count = 16;

using Floats = float __attribute__((vector_size(64)));
using Words = std::uint32_t __attribute__((vector_size(64)));
using Integers = std::int32_t __attribute__((vector_size(64)));
using Shorts = std::uint16_t __attribute__((vector_size(32)));

inline void load(const float* source, Floats& value) {
  std::memcpy(&value, source, sizeof value);
}

inline void store(const Floats& value, float* target) {
  std::memcpy(target, &value, sizeof value);
}

#if defined(__AVX512F__)
inline constexpr __mmask16 all =
    0xffff;  // the forms without a mask draw false warnings from GCC 12's headers
inline void load(const bfloat16* source, Floats& value) {
  const __m512i wide =
      _mm512_maskz_cvtepu16_epi32(all, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source)));
  const Words bits = Words(wide) << 16;
  std::memcpy(&value, &bits, sizeof value);
}
#else
inline void load(const bfloat16* source, Floats& value) {
  Shorts bits;
  std::memcpy(&bits, source, sizeof bits);
  const Words wide = __builtin_convertvector(bits, Words) << 16;
  std::memcpy(&value, &wide, sizeof value);
}
#endif

// Rounds to nearest even; the same steps as float16::bfloat16_bits.
inline void store(const Floats& value, bfloat16* target) {
  Words bits;
  std::memcpy(&bits, &value, sizeof bits);
  const Words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const Words quiet = (bits >> 16) | 0x40u;
  const Words chosen = value == value ? rounded : quiet;
  const Shorts result = __builtin_convertvector(chosen, Shorts);
  std::memcpy(target, &result, sizeof result);
}

#if defined(__AVX512F__)
inline void load(const half* source, Floats& value) {
  const __m512 wide =
      _mm512_maskz_cvtph_ps(all, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source)));
  std::memcpy(&value, &wide, sizeof value);
}
inline void store(const Floats& value, half* target) {
  __m512 wide;
  std::memcpy(&wide, &value, sizeof wide);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(target),
                      _mm512_maskz_cvtps_ph(all, wide, _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(__F16C__)
inline void load(const half* source, Floats& value) {
  const auto* bits = reinterpret_cast<const __m128i*>(source);
  const __m256 wide[2] = {_mm256_cvtph_ps(_mm_loadu_si128(bits)), _mm256_cvtph_ps(_mm_loadu_si128(bits + 1))};
  std::memcpy(&value, wide, sizeof value);
}
inline void store(const Floats& value, half* target) {
  __m256 wide[2];
  std::memcpy(wide, &value, sizeof wide);
  auto* bits = reinterpret_cast<__m128i*>(target);
  _mm_storeu_si128(bits, _mm256_cvtps_ph(wide[0], _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(bits + 1, _mm256_cvtps_ph(wide[1], _MM_FROUND_TO_NEAREST_INT));
}
#else
inline void load(const half* source, Floats& value) {
  for (int lane = 0; lane < count; ++lane) value[lane] = to_float(source[lane]);
}
inline void store(const Floats& value, half* target) {
  for (int lane = 0; lane < count; ++lane) target[lane] = from_float<half>(value[lane]);
}
#endif

/// Stores to a multiple of the sixteen values' size, past the caches.
template <class T>
inline void stream(const Floats& value, T* target) {
  struct {
    T values[count];
  } bits;
  store(value, bits.values);
  mylos::stream(bits, target);
}

/// The first `valid` lanes; the others are zero and their memory is not touched.
template <class T>
inline void load_some(const T* source, std::int64_t valid, Floats& value) {
  T padded[count] = {};
  std::memcpy(padded, source, static_cast<std::size_t>(valid) * sizeof(T));
  load(padded, value);
}

template <class T>
inline void store_some(const Floats& value, std::int64_t valid, T* target) {
  T padded[count];
  store(value, padded);
  std::memcpy(target, padded, static_cast<std::size_t>(valid) * sizeof(T));
}

/// From a table of 32 values, in every lane the one that the last five bits of its index name.
#if defined(__AVX512F__)
inline void look_up(const Floats (&table)[2], const Integers& index, Floats& value) {
  value = Floats(_mm512_maskz_permutex2var_ps(all, __m512(table[0]), __m512i(index), __m512(table[1])));
}
#else
inline void look_up(const Floats (&table)[2], const Integers& index, Floats& value) {
  float values[2 * count];
  std::memcpy(values, table, sizeof values);
  for (int lane = 0; lane < count; ++lane) value[lane] = values[index[lane] & (2 * count - 1)];
}
#endif

/// Replaces the lanes below `first` and from `end` on.
inline void keep(Floats& values, int first, int end, float other) {
  constexpr Integers lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  values = (lane >= first) & (lane < end) ? values : Floats{} + other;
}

}  // namespace mylos::lanes
