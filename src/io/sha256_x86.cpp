// SHA-256 by the SHA extensions of x86 processors.
#include <cpuid.h>
#include <immintrin.h>

#include "sha256_rounds.hpp"

namespace mylos {

bool has_sha_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1u) != 0 &&
         __builtin_cpu_supports("sse4.1");
}

// Intel SDM, SHA256RNDS2: two rounds per instruction, four schedule words
/// per vector. The instructions want the state as {a, b, e, f} and {c, d, g, h}, highest word first.
__attribute__((target("sha,sse4.1"))) void compress_by_sha_instructions(Sha256State& state,
                                                                        const std::uint8_t* data,
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
      const auto* constants = reinterpret_cast<const __m128i*>(sha256_round_constants.data() + t);
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

}  // namespace mylos
