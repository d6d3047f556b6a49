// The Highway targets that Mylos compiles its vector code for. Include it before Highway's headers.
//
// x86-64: SSE2 (any processor), AVX2, AVX3 (AVX-512 as of Skylake) and AVX3_ZEN4 (with AVX512-BF16; Intel's
// processors support all of it since Sapphire Rapids). Arm: NEON without AES (any 64-bit processor) and SVE.
// Targets between them would increase the compile time without more speed. A build for one machine leaves out
// those that the machine lacks (MYLOS_TARGETS_LEFT_OUT, which CMake defines).
#pragma once

#define HWY_DISABLED_TARGETS                                                                               \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_AVX3_SPR | HWY_AVX10_2 | HWY_NEON | HWY_NEON_BF16 | HWY_SVE2 | \
   HWY_SVE_256 | HWY_SVE2_128 | (MYLOS_TARGETS_LEFT_OUT))
