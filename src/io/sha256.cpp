// SHA-256 after FIPS 180-4: a site's compilers always have this, its OpenSSL may be missing.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "mylos/io/digest.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#define MYLOS_SHA_INSTRUCTIONS 1
#endif

namespace mylos {
namespace {

using State = std::array<std::uint32_t, 8>;

// FIPS 180-4, section 4.2.2: fractional parts of the cube roots of the first 64 primes.
alignas(16) constexpr std::array<std::uint32_t, 64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         std::uint32_t{bytes[3]};
}

/// Section 6.2.2: folds whole blocks of 64 bytes into the state.
void compress(State& state, const std::uint8_t* data, std::size_t blocks) {
  for (; blocks > 0; --blocks, data += 64) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(data + 4 * t);
    for (std::size_t t = 16; t < 64; ++t) {
      const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
      const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
      w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t t = 0; t < 64; ++t) {
      const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const std::uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + round_constants[t] + w[t];
      const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const std::uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + t1;
      d = c;
      c = b;
      b = a;
      a = t1 + t2;
    }
    const State change{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state[i] += change[i];
  }
}

#ifdef MYLOS_SHA_INSTRUCTIONS

bool has_sha_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1u) != 0 &&
         __builtin_cpu_supports("sse4.1");
}

/// The same with the SHA extensions (Intel SDM, SHA256RNDS2): two rounds per instruction, four schedule words
/// per vector. The instructions want the state as {a, b, e, f} and {c, d, g, h}, highest word first.
__attribute__((target("sha,sse4.1"))) void compress_by_instructions(State& state, const std::uint8_t* data,
                                                                    std::size_t blocks) {
  const __m128i byte_order = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
  __m128i abef = _mm_set_epi32(static_cast<int>(state[0]), static_cast<int>(state[1]),
                               static_cast<int>(state[4]), static_cast<int>(state[5]));
  __m128i cdgh = _mm_set_epi32(static_cast<int>(state[2]), static_cast<int>(state[3]),
                               static_cast<int>(state[6]), static_cast<int>(state[7]));
  for (; blocks > 0; --blocks, data += 64) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; ++i) {
      const auto* words = reinterpret_cast<const __m128i*>(data + 16 * i);
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(words), byte_order);
    }
    for (std::size_t t = 0; t < 64; t += 4) {
      const auto* constants = reinterpret_cast<const __m128i*>(round_constants.data() + t);
      const __m128i sum = _mm_add_epi32(w[0], _mm_load_si128(constants));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
      // Words t + 16 .. t + 19 of the schedule.
      const __m128i partial = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), _mm_alignr_epi8(w[3], w[2], 4));
      const __m128i next = _mm_sha256msg2_epu32(partial, w[3]);
      w[0] = w[1];
      w[1] = w[2];
      w[2] = w[3];
      w[3] = next;
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  alignas(16) std::array<std::uint32_t, 4> fe_ba;
  alignas(16) std::array<std::uint32_t, 4> hg_dc;
  _mm_store_si128(reinterpret_cast<__m128i*>(fe_ba.data()), abef);
  _mm_store_si128(reinterpret_cast<__m128i*>(hg_dc.data()), cdgh);
  state = {fe_ba[3], fe_ba[2], hg_dc[3], hg_dc[2], fe_ba[1], fe_ba[0], hg_dc[1], hg_dc[0]};
}

#else

bool has_sha_instructions() {
  return false;
}
void compress_by_instructions(State& state, const std::uint8_t* data, std::size_t blocks) {
  compress(state, data, blocks);
}

#endif

void fold(State& state, const std::uint8_t* data, std::size_t blocks) {
  static const bool by_instructions = has_sha_instructions();
  by_instructions ? compress_by_instructions(state, data, blocks) : compress(state, data, blocks);
}

}  // namespace

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {
}

void Sha256::update(const void* data, std::size_t bytes) {
  const auto* next = static_cast<const std::uint8_t*>(data);
  const std::size_t held = bytes_ % 64;
  bytes_ += bytes;
  if (held > 0) {
    const std::size_t taken = std::min(bytes, 64 - held);
    std::memcpy(block_.data() + held, next, taken);
    next += taken;
    bytes -= taken;
    if (held + taken < 64) return;
    fold(state_, block_.data(), 1);
  }
  fold(state_, next, bytes / 64);
  if (bytes % 64 > 0) std::memcpy(block_.data(), next + bytes / 64 * 64, bytes % 64);
}

std::string Sha256::finish() {
  const std::uint64_t bits = bytes_ * 8;
  // Section 5.1.1: a one bit, zeros up to 8 bytes short of a block, the length in bits.
  static constexpr std::array<std::uint8_t, 64> padding{0x80};
  const std::size_t held = bytes_ % 64;
  update(padding.data(), held < 56 ? 56 - held : 120 - held);
  std::array<std::uint8_t, 8> length;
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
  update(length.data(), length.size());
  std::string hex;
  for (const std::uint32_t word : state_) hex += fmt::format("{:08x}", word);
  return hex;
}

}  // namespace mylos
