// RoundingBits: 16 random bits for the stochastic rounding of each element of a parameter. They are a pure
// function of (stream, update, element), independent of the sharding over ranks, of threads, tiles and
// restarts.
#pragma once

#include <cstdint>

#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

class RoundingBits {
 public:
  /// `update`: the number of updates before this one.
  KOKKOS_INLINE_FUNCTION RoundingBits(const RandomStream& stream, std::uint64_t update)
      : stream_(stream), update_(update) {}

  /// Writes the bits of elements first + i of the parameter to bits[i], for i < count <= tile_width. `first`
  /// must be a multiple of 8, and `bits` must have room for tile_width values.
  KOKKOS_INLINE_FUNCTION void of_tile(std::int64_t first, [[maybe_unused]] std::int64_t count,
                                      std::uint16_t* bits) const {
    if constexpr (runs_on_host) {
      KOKKOS_IF_ON_HOST((of_tile_on_host(first, count, bits);))
    } else {
      of_block(block(first / elements_of_block), bits);
    }
  }

 private:
  // A random block serves eight elements: word i has the bits of elements i (low half) and i + 4 (high half).
  static constexpr std::int64_t elements_of_block = 8;
  static_assert(tile_width % elements_of_block == 0);

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION RandomBlock block(std::int64_t index) const {
    const auto number = static_cast<std::uint64_t>(index);
    return stream_.block(update_, number >> 32, static_cast<std::uint32_t>(number));
  }
  KOKKOS_FORCEINLINE_FUNCTION static void of_block(const RandomBlock& random, std::uint16_t* bits) {
    for (int i = 0; i < 4; ++i) {
      bits[i] = static_cast<std::uint16_t>(random.word[i]);
      bits[i + 4] = static_cast<std::uint16_t>(random.word[i] >> 16);
    }
  }
  /// A separate function, as in DropoutMask, so that the generator's loop vectorises.
  void of_tile_on_host(std::int64_t first, std::int64_t count, std::uint16_t* bits) const;

  RandomStream stream_;
  std::uint64_t update_;
};

}  // namespace mylos
