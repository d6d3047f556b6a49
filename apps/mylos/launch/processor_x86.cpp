// Compiled for the oldest x86-64. It uses no templates or inline functions of headers, because the linker may
// keep another file's copy of such a function, compiled for newer processors.
#include <cpuid.h>

#include <cstring>

#include "launch/processor.hpp"

namespace mylos::app {
namespace {

// Registers that the operating system must save (bits of XCR0): vectors of 32 bytes, and of 64 bytes with
// masks.
constexpr std::uint32_t ymm = 0x06;
constexpr std::uint32_t zmm = 0xe6;

struct Feature {
  const char* name;
  ProcessorWords::Word word;
  int bit;
  std::uint32_t saved;
};

// Intel SDM, CPUID; for the last three AMD APM 3, appendix E. The table omits features that compilers use
// only when they are named (AES, SHA, VP2INTERSECT and so on), because a program does not need them to run.
constexpr Feature features[] = {
    {"SSE3", ProcessorWords::leaf1_ecx, 0, 0},
    {"SSSE3", ProcessorWords::leaf1_ecx, 9, 0},
    {"SSE4.1", ProcessorWords::leaf1_ecx, 19, 0},
    {"SSE4.2", ProcessorWords::leaf1_ecx, 20, 0},
    {"POPCNT", ProcessorWords::leaf1_ecx, 23, 0},
    {"AVX", ProcessorWords::leaf1_ecx, 28, ymm},
    {"F16C", ProcessorWords::leaf1_ecx, 29, ymm},
    {"FMA", ProcessorWords::leaf1_ecx, 12, ymm},
    {"MOVBE", ProcessorWords::leaf1_ecx, 22, 0},
    {"BMI", ProcessorWords::leaf7_ebx, 3, 0},
    {"BMI2", ProcessorWords::leaf7_ebx, 8, 0},
    {"AVX2", ProcessorWords::leaf7_ebx, 5, ymm},
    {"AVX-512F", ProcessorWords::leaf7_ebx, 16, zmm},
    {"AVX-512CD", ProcessorWords::leaf7_ebx, 28, zmm},
    {"AVX-512DQ", ProcessorWords::leaf7_ebx, 17, zmm},
    {"AVX-512BW", ProcessorWords::leaf7_ebx, 30, zmm},
    {"AVX-512VL", ProcessorWords::leaf7_ebx, 31, zmm},
    {"AVX-512IFMA", ProcessorWords::leaf7_ebx, 21, zmm},
    {"AVX-512VBMI", ProcessorWords::leaf7_ecx, 1, zmm},
    {"AVX-512VBMI2", ProcessorWords::leaf7_ecx, 6, zmm},
    {"AVX-512VNNI", ProcessorWords::leaf7_ecx, 11, zmm},
    {"AVX-512BITALG", ProcessorWords::leaf7_ecx, 12, zmm},
    {"AVX-512VPOPCNTDQ", ProcessorWords::leaf7_ecx, 14, zmm},
    {"AVX-512BF16", ProcessorWords::leaf7_1_eax, 5, zmm},
    {"AVX-512FP16", ProcessorWords::leaf7_edx, 23, zmm},
    {"GFNI", ProcessorWords::leaf7_ecx, 8, 0},
    {"AVX-VNNI", ProcessorWords::leaf7_1_eax, 4, ymm},
    {"LZCNT", ProcessorWords::extended_ecx, 5, 0},
    {"XOP", ProcessorWords::extended_ecx, 11, ymm},
    {"FMA4", ProcessorWords::extended_ecx, 16, ymm},
};

constexpr std::uint32_t operating_system_saves = 1u << 27;  // OSXSAVE: XGETBV may be asked

std::uint32_t read_xcr0() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

struct Architecture {
  const char* name;
  const char* const needs[12];
};

// Newest first; Kokkos' flags: -march=skylake-avx512, -march=core-avx2, -mavx.
constexpr Architecture architectures[] = {
    {"SKX",
     {"AVX2", "FMA", "F16C", "BMI", "BMI2", "AVX-512F", "AVX-512CD", "AVX-512DQ", "AVX-512BW", "AVX-512VL"}},
    {"HSW", {"AVX2", "FMA", "F16C", "BMI", "BMI2", "MOVBE", "LZCNT"}},
    {"SNB", {"AVX"}},
};

}  // namespace

ProcessorWords read_processor() {
  ProcessorWords processor;
  auto& word = processor.word;
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) {
    word[ProcessorWords::leaf1_ecx] = c;
    if ((c & operating_system_saves) != 0) word[ProcessorWords::xcr0] = read_xcr0();
  }
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    word[ProcessorWords::leaf7_ebx] = b;
    word[ProcessorWords::leaf7_ecx] = c;
    word[ProcessorWords::leaf7_edx] = d;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) word[ProcessorWords::leaf7_1_eax] = a;
  }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d) != 0) word[ProcessorWords::extended_ecx] = c;
  return processor;
}

bool has_feature(const ProcessorWords& processor, const char* name) {
  for (const Feature& feature : features) {
    if (std::strcmp(feature.name, name) != 0) continue;
    return (processor.word[feature.word] >> feature.bit & 1u) != 0 &&
           (processor.word[ProcessorWords::xcr0] & feature.saved) == feature.saved;
  }
  return false;
}

int count_missing(const ProcessorWords& processor, const char* const* names, const char** first) {
  int missing = 0;
  for (; *names != nullptr; ++names) {
    if (has_feature(processor, *names)) continue;
    if (missing++ == 0) *first = *names;
  }
  return missing;
}

const char* architecture_for(const ProcessorWords& processor) {
  const char* ignored = nullptr;
  for (const Architecture& architecture : architectures) {
    if (count_missing(processor, architecture.needs, &ignored) == 0) return architecture.name;
  }
  return "NONE";
}

}  // namespace mylos::app
