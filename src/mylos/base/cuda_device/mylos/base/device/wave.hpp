// Replaces src/mylos/base/device/wave.hpp in builds for NVIDIA devices.
#pragma once

#include <Kokkos_Core.hpp>

namespace mylos::hardware {

inline constexpr bool has_wave = true;

KOKKOS_FORCEINLINE_FUNCTION int lane() {
  KOKKOS_IF_ON_DEVICE((return static_cast<int>(threadIdx.x);))
  KOKKOS_IF_ON_HOST((return 0;))
}

/// Each step adds what Kokkos adds to lane 0; the sums of two floats do not depend on their order, so all
/// lanes have the bits of lane 0.
template <class Value>
KOKKOS_FORCEINLINE_FUNCTION Value sum_of_lanes(const Value& value) {
  struct Words {
    std::uint32_t word[sizeof(Value) / sizeof(std::uint32_t)];
  };
  static_assert(sizeof(Words) == sizeof(Value));
  Value total = value;
  for (int distance = 16; distance > 0; distance /= 2) {
    auto words = Kokkos::bit_cast<Words>(total);
    KOKKOS_IF_ON_DEVICE((for (auto& word : words.word) word = __shfl_xor_sync(0xffffffffu, word, distance);))
    total += Kokkos::bit_cast<Value>(words);
  }
  return total;
}

/// By accesses of 16 bytes. The compiler writes the elements of an aligned array separately.
template <int count>
KOKKOS_FORCEINLINE_FUNCTION void write_words(const std::uint32_t* words, void* to) {
  static_assert(count % 4 == 0);
  for (int i = 0; i < count; i += 4) {
    static_cast<uint4*>(to)[i / 4] = make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
  }
}

}  // namespace mylos::hardware
