// Writing cache lines of the host past its caches.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__AVX__) && !defined(__CUDACC__)
#include <immintrin.h>
#endif

namespace mylos {

inline constexpr std::size_t line_bytes = 64;

#if defined(__AVX512F__) && !defined(__CUDACC__)
inline void stream_line(void* to, const void* from) {
  _mm512_stream_si512(static_cast<__m512i*>(to), _mm512_load_si512(from));
}
inline void finish_streaming() {
  _mm_sfence();
}
#elif defined(__AVX__) && !defined(__CUDACC__)
inline void stream_line(void* to, const void* from) {
  auto* target = static_cast<__m256i*>(to);
  const auto* source = static_cast<const __m256i*>(from);
  _mm256_stream_si256(target, _mm256_load_si256(source));
  _mm256_stream_si256(target + 1, _mm256_load_si256(source + 1));
}
inline void finish_streaming() {
  _mm_sfence();
}
#else
/// Copies 64 bytes; both addresses are multiples of 64. Without such stores in the processor an ordinary
/// copy.
inline void stream_line(void* to, const void* from) {
  std::memcpy(to, from, line_bytes);
}
/// Makes the streamed lines visible to other threads.
inline void finish_streaming() {}
#endif

}  // namespace mylos
