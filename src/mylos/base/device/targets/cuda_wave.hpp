// no_wave.hpp by instructions of NVIDIA's devices.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstring>

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

/// Writes 16 bytes. The compiler splits an assignment where it knows the elements one after the other.
KOKKOS_FORCEINLINE_FUNCTION void write_16_bytes(const std::uint32_t (&words)[4], void* to) {
  KOKKOS_IF_ON_DEVICE((asm volatile("st.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words[0]),
                                    "r"(words[1]), "r"(words[2]), "r"(words[3])
                                    : "memory");))
  KOKKOS_IF_ON_HOST((std::memcpy(to, words, sizeof words);))
}

template <class Value>
KOKKOS_FORCEINLINE_FUNCTION void write_aligned(const Value& value, void* to) {
  if constexpr (alignof(Value) % 16 == 0) {
    constexpr int parts = sizeof(Value) / 16;
    struct alignas(16) Words {
      std::uint32_t word[parts][4];
    };
    const auto words = Kokkos::bit_cast<Words>(value);
    for (int i = 0; i < parts; ++i) write_16_bytes(words.word[i], static_cast<char*>(to) + 16 * i);
  } else {
    *static_cast<Value*>(to) = value;
  }
}

}  // namespace mylos::hardware
