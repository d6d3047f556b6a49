#include <cpuid.h>

#include <cstdint>

#include "mylos/kernels/gemm/matrix_unit.hpp"

namespace mylos {

// Intel SDM: CPUID.7.0:EDX, and XCR0.
bool processor_has_matrix_unit() {
  constexpr std::uint32_t operating_system_saves = 1u << 27;  // OSXSAVE: XGETBV is available
  constexpr std::uint32_t tiles = 1u << 24;
  constexpr std::uint32_t bfloat16 = 1u << 22;
  constexpr std::uint32_t tile_state = 3u << 17;
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & operating_system_saves) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & tiles) == 0 || (d & bfloat16) == 0) return false;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & tile_state) == tile_state;
}

}  // namespace mylos
