// Lists the instruction sets that the compiler may use. Compiled like the rest of the program; contains no
// code.
#include "launch/processor.hpp"

namespace mylos::app {

const char* const built_for = MYLOS_BUILT_FOR;

const char* const built_with[] = {
#ifdef __SSE3__
    "SSE3",
#endif
#ifdef __SSSE3__
    "SSSE3",
#endif
#ifdef __SSE4_1__
    "SSE4.1",
#endif
#ifdef __SSE4_2__
    "SSE4.2",
#endif
#ifdef __POPCNT__
    "POPCNT",
#endif
#ifdef __AVX__
    "AVX",
#endif
#ifdef __F16C__
    "F16C",
#endif
#ifdef __FMA__
    "FMA",
#endif
#ifdef __MOVBE__
    "MOVBE",
#endif
#ifdef __BMI__
    "BMI",
#endif
#ifdef __BMI2__
    "BMI2",
#endif
#ifdef __LZCNT__
    "LZCNT",
#endif
#ifdef __XOP__
    "XOP",
#endif
#ifdef __FMA4__
    "FMA4",
#endif
#ifdef __AVX2__
    "AVX2",
#endif
#ifdef __AVX512F__
    "AVX-512F",
#endif
#ifdef __AVX512CD__
    "AVX-512CD",
#endif
#ifdef __AVX512DQ__
    "AVX-512DQ",
#endif
#ifdef __AVX512BW__
    "AVX-512BW",
#endif
#ifdef __AVX512VL__
    "AVX-512VL",
#endif
#ifdef __AVX512IFMA__
    "AVX-512IFMA",
#endif
#ifdef __AVX512VBMI__
    "AVX-512VBMI",
#endif
#ifdef __AVX512VBMI2__
    "AVX-512VBMI2",
#endif
#ifdef __AVX512VNNI__
    "AVX-512VNNI",
#endif
#ifdef __AVX512BITALG__
    "AVX-512BITALG",
#endif
#ifdef __AVX512VPOPCNTDQ__
    "AVX-512VPOPCNTDQ",
#endif
#ifdef __GFNI__
    "GFNI",
#endif
#ifdef __AVX512BF16__
    "AVX-512BF16",
#endif
#ifdef __AVXVNNI__
    "AVX-VNNI",
#endif
#ifdef __AVX512FP16__
    "AVX-512FP16",
#endif
    nullptr,
};

}  // namespace mylos::app
