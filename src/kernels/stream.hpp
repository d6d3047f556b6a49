// Writing to the host's memory past its caches.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__AVX__) && !defined(__CUDACC__)
#include <immintrin.h>
#endif

namespace mylos {

inline constexpr std::size_t line_bytes = 64;

#if defined(__AVX__) && !defined(__CUDACC__)
inline void stream_part(const std::byte (&bits)[32], void* to) {
  __m256i part;
  std::memcpy(&part, bits, sizeof part);
  _mm256_stream_si256(static_cast<__m256i*>(to), part);
}
inline void finish_streaming() {
  _mm_sfence();
}
#else
/// Copies 32 bytes to a multiple of 32. Without such stores in the processor an ordinary copy.
inline void stream_part(const std::byte (&bits)[32], void* to) {
  std::memcpy(to, bits, sizeof bits);
}
/// Makes what was streamed visible to other threads.
inline void finish_streaming() {}
#endif

#if defined(__AVX512F__) && !defined(__CUDACC__)
inline void stream_part(const std::byte (&bits)[64], void* to) {
  __m512i part;
  std::memcpy(&part, bits, sizeof part);
  _mm512_stream_si512(static_cast<__m512i*>(to), part);
}
#else
inline void stream_part(const std::byte (&bits)[64], void* to) {
  std::byte halves[2][32];
  std::memcpy(halves, bits, sizeof bits);
  stream_part(halves[0], to);
  stream_part(halves[1], static_cast<std::byte*>(to) + 32);
}
#endif

/// Writes a value of 32 or 64 bytes to a multiple of its size.
template <class Value>
inline void stream(const Value& value, void* to) {
  std::byte bits[sizeof(Value)];
  std::memcpy(bits, &value, sizeof bits);
  stream_part(bits, to);
}

}  // namespace mylos
