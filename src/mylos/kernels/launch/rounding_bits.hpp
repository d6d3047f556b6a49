// RoundingBits: the random bits by which a parameter's elements are rounded stochastically, 16 for each, as a
// pure function of (stream, update, element): the same for any cut of the parameter over ranks, threads and
// tiles, and after a restart.
#pragma once

#include <cstdint>

#include "mylos/base/numbers/random.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

class RoundingBits {
 public:
  /// `update`: how many updates there were before this one.
  KOKKOS_INLINE_FUNCTION RoundingBits(const RandomStream& stream, std::uint64_t update)
      : stream_(stream), update_(update) {}

  /// bits[i] are those of element first + i of the parameter, for i < count <= tile_width. `first` is a
  /// multiple of 8; there is room for tile_width of them.
  KOKKOS_INLINE_FUNCTION void of_tile(std::int64_t first, [[maybe_unused]] std::int64_t count,
                                      std::uint16_t* bits) const {
    if constexpr (runs_on_host) {
      of_tile_on_host(first, count, bits);
    } else {
      of_block(block(first / elements_of_block), bits);
    }
  }

 private:
  // A random block has the bits of eight elements: word i those of elements i (low half) and i + 4 (high).
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
  /// In a function of its own, as DropoutMask's: so that the generator's loop vectorises.
  void of_tile_on_host(std::int64_t first, std::int64_t count, std::uint16_t* bits) const;

  RandomStream stream_;
  std::uint64_t update_;
};

}  // namespace mylos
