// Random numbers that depend only on what they are for: the same after a restart.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace reacting {

/// The finalizer of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
KOKKOS_INLINE_FUNCTION std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Streams of different numbers have nothing in common.
KOKKOS_INLINE_FUNCTION std::uint64_t stream_of(std::uint64_t number) {
  return mixed(number);
}

KOKKOS_INLINE_FUNCTION std::uint64_t random_bits(std::uint64_t stream, std::uint64_t number) {
  return mixed(stream ^ number);
}

/// In [0, 1).
KOKKOS_INLINE_FUNCTION double random_unit(std::uint64_t stream, std::uint64_t number) {
  return static_cast<double>(random_bits(stream, number) >> 11) * 0x1p-53;
}

}  // namespace reacting
