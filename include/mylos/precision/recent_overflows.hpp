// RecentOverflows: a ring of one bit for each of the last 1,000 steps: whether it overflowed. Plain data for
// host and device.
#pragma once

#include <cstdint>

namespace mylos {

/// The overflows of the last steps.
struct RecentOverflows {
  static constexpr std::int64_t length = 1000;  // steps that are recorded
  static constexpr std::int64_t words = 16;     // of 64 bits for them

  std::uint64_t bits[words] = {};  // step i: bit i modulo 64 of word i / 64, i modulo `length`
  std::uint64_t noted = 0;         // steps since the ring was empty
  std::int64_t overflows = 0;      // among steps()

  /// Returns the number of steps recorded in the ring.
  [[nodiscard]] constexpr std::int64_t steps() const {
    return noted < static_cast<std::uint64_t>(length) ? static_cast<std::int64_t>(noted) : length;
  }

  /// Returns overflows per step in the ring; 0 before the first step.
  [[nodiscard]] constexpr double rate() const {
    return noted > 0 ? static_cast<double>(overflows) / static_cast<double>(steps()) : 0.0;
  }

  /// Records one step; the oldest of 1,000 is overwritten.
  constexpr void note(bool overflow) {
    const std::uint64_t index = bit_index(noted);
    if (is_set(index)) overflows -= 1;
    const std::uint64_t bit = std::uint64_t{1} << (index % 64);
    bits[index / 64] = overflow ? bits[index / 64] | bit : bits[index / 64] & ~bit;
    if (overflow) overflows += 1;
    noted += 1;
  }

  /// Returns the overflows among the last `count` steps in the ring.
  [[nodiscard]] constexpr std::int64_t of_last(std::int64_t count) const {
    std::int64_t found = 0;
    for (std::int64_t back = 1; back <= count && back <= steps(); ++back)
      found += is_set(bit_index(noted - static_cast<std::uint64_t>(back))) ? 1 : 0;
    return found;
  }

 private:
  [[nodiscard]] static constexpr std::uint64_t bit_index(std::uint64_t step) {
    return step % static_cast<std::uint64_t>(length);
  }
  [[nodiscard]] constexpr bool is_set(std::uint64_t index) const {
    return (bits[index / 64] >> (index % 64) & 1) != 0;
  }
};

}  // namespace mylos
