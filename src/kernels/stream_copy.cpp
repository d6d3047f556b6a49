#include "stream_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__AVX512F__) || defined(__AVX__)
#include <immintrin.h>
#endif

namespace mylos {
namespace {

constexpr std::size_t line_bytes = 64;

#if defined(__AVX512F__)
void stream_line(std::byte* to, const std::byte* from) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
}
void finish_streaming() {
  _mm_sfence();
}
#elif defined(__AVX__)
void stream_line(std::byte* to, const std::byte* from) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to),
                      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to + 32),
                      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32)));
}
void finish_streaming() {
  _mm_sfence();
}
#else
void stream_line(std::byte* to, const std::byte* from) {
  std::memcpy(to, from, line_bytes);
}
void finish_streaming() {}
#endif

}  // namespace

void stream_copy(void* to, const void* from, std::size_t bytes) {
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  const std::size_t past_line = reinterpret_cast<std::uintptr_t>(to) % line_bytes;
  const std::size_t head = std::min(bytes, past_line == 0 ? 0 : line_bytes - past_line);
  std::memcpy(target, source, head);
  std::size_t done = head;
  for (; done + line_bytes <= bytes; done += line_bytes) stream_line(target + done, source + done);
  std::memcpy(target + done, source + done, bytes - done);
  finish_streaming();
}

}  // namespace mylos
