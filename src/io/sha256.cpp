// SHA-256 after FIPS 180-4: a site's compilers always have this, its OpenSSL may be missing.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "mylos/io/digest.hpp"
#include "sha256_rounds.hpp"

namespace mylos {
namespace {

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         std::uint32_t{bytes[3]};
}

void fold(Sha256State& state, const std::uint8_t* data, std::size_t blocks) {
  static const bool by_instructions = has_sha_instructions();
  by_instructions ? compress_by_sha_instructions(state, data, blocks)
                  : compress_portably(state, data, blocks);
}

}  // namespace

// FIPS 180-4, section 6.2.2.
void compress_portably(Sha256State& state, const std::uint8_t* data, std::size_t blocks) {
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
      const std::uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + sha256_round_constants[t] + w[t];
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
    const Sha256State change{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state[i] += change[i];
  }
}

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
