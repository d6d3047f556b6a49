// What holds values in a device's registers: loops that are unrolled completely, because only arrays with
// constant indices are held there, and tiles as their bits.
#pragma once

#include <utility>

#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {

namespace launch {

/// The second bound of a kernel that NVIDIA's devices have registers for `teams` times; AMD's have twice as
/// many registers for teams of twice as many lanes.
constexpr unsigned teams_at_a_time(int teams) {
  return has_wide_waves ? 1 : static_cast<unsigned>(teams);
}

template <int... indices, class Body>
KOKKOS_FORCEINLINE_FUNCTION void call_each(std::integer_sequence<int, indices...>, const Body& body) {
  (body(indices), ...);
}

}  // namespace launch

/// Calls body(index) for index in [0, count).
template <int count, class Body>
KOKKOS_FORCEINLINE_FUNCTION void unroll(const Body& body) {
  launch::call_each(std::make_integer_sequence<int, count>{}, body);
}

/// The bits of a complete, aligned tile. Compilers would hold each of its 16-bit elements in a separate
/// register.
template <class T>
class TileBits {
 public:
  using Elements = device_tile::Elements<T>;

  TileBits() = default;
  KOKKOS_FORCEINLINE_FUNCTION explicit TileBits(const T* from)
      : words_(emulates_device ? Kokkos::bit_cast<Words>(*reinterpret_cast<const Elements*>(from))
                               : *reinterpret_cast<const Words*>(from)) {}
  /// Rounds the values.
  KOKKOS_FORCEINLINE_FUNCTION static TileBits rounded(const float* values) {
    Elements elements;
    for_each_in_tile(tile_width, [&](std::int64_t i) { elements.element[i] = from_float<T>(values[i]); });
    TileBits bits;
    bits.words_ = Kokkos::bit_cast<Words>(elements);
    return bits;
  }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Elements elements() const {
    return Kokkos::bit_cast<Elements>(words_);
  }
  /// Writes the floats.
  KOKKOS_FORCEINLINE_FUNCTION void read(float* values) const {
    const Elements all = elements();
    for_each_in_tile(tile_width, [&](std::int64_t i) { values[i] = to_float(all.element[i]); });
  }
  KOKKOS_FORCEINLINE_FUNCTION void write(T* to) const {
    if constexpr (hardware::has_wave) return hardware::write_aligned(words_, to);
    *reinterpret_cast<Elements*>(to) = elements();
  }

 private:
  // Aligned as elements are: a device copies it by accesses of 16 bytes, and other types byte by byte.
  struct alignas(Elements) Words {
    std::uint32_t word[sizeof(Elements) / sizeof(std::uint32_t)];
  };

  Words words_;
};

}  // namespace mylos
