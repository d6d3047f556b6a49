// RecentOverflows: which of the last 1,000 steps overflowed, a bit each in a ring. Plain data, on host and
// device.
#pragma once

#include <cstdint>

namespace mylos {

struct RecentOverflows {
  static constexpr std::int64_t length = 1000;
  static constexpr std::int64_t words = 16;

  std::uint64_t bits[words] = {};
  std::uint64_t noted = 0;     // steps since the ring was empty
  std::int64_t overflows = 0;  // among steps()

  /// How many steps it knows of.
  [[nodiscard]] constexpr std::int64_t steps() const {
    return noted < static_cast<std::uint64_t>(length) ? static_cast<std::int64_t>(noted) : length;
  }

  /// Overflows among them, for each; 0 before the first step.
  [[nodiscard]] constexpr double rate() const {
    return noted > 0 ? static_cast<double>(overflows) / static_cast<double>(steps()) : 0.0;
  }

  /// Of one more step; the oldest of 1,000 makes room.
  constexpr void note(bool overflow) {
    const std::uint64_t place = place_of(noted);
    if (is_set(place)) overflows -= 1;
    const std::uint64_t bit = std::uint64_t{1} << (place % 64);
    bits[place / 64] = overflow ? bits[place / 64] | bit : bits[place / 64] & ~bit;
    if (overflow) overflows += 1;
    noted += 1;
  }

  /// Overflows among the last `count` steps, as far as it knows of so many.
  [[nodiscard]] constexpr std::int64_t of_last(std::int64_t count) const {
    std::int64_t found = 0;
    for (std::int64_t back = 1; back <= count && back <= steps(); ++back)
      found += is_set(place_of(noted - static_cast<std::uint64_t>(back))) ? 1 : 0;
    return found;
  }

 private:
  [[nodiscard]] static constexpr std::uint64_t place_of(std::uint64_t step) {
    return step % static_cast<std::uint64_t>(length);
  }
  [[nodiscard]] constexpr bool is_set(std::uint64_t place) const {
    return (bits[place / 64] >> (place % 64) & 1) != 0;
  }
};

}  // namespace mylos
