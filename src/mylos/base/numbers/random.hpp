// Counter-based random numbers (Philox4x32-10, Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC'11).
//
// A number is a pure function of (seed, purpose, layer name, step, sample, element). It does not depend on
// ranks, threads or recomputation, and apart from the step there is no state to save.
//
// random_words.hpp defines block() and word(): who calls them includes it, and the generator with it.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "mylos/base/kokkos_names.hpp"
#include "mylos/base/numbers/hash.hpp"

namespace mylos {

enum class RandomPurpose : std::uint64_t {
  initial_weights = 1,
  dropout = 2,
  shuffle = 3,
  calibration = 4,
  sampling = 5,
  weight_rounding = 6,
  augmentation = 7,
  fields = 8
};

/// Four independent 32-bit random words.
struct RandomBlock {
  std::uint32_t word[4];
};

/// Identifies a stream of random numbers. Created on the host and copied into kernels.
class RandomStream {
 public:
  RandomStream() = default;
  RandomStream(std::uint64_t seed, RandomPurpose purpose, std::string_view name)
      : key_(mix(mix(seed) ^ mix(static_cast<std::uint64_t>(purpose) ^ hash_bytes(name)))) {}

  /// Returns block `block` (four elements) of sample `sample` (its index in the global batch) at step `step`.
  /// sample < 2^48; step < 2^48; block < 2^32.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION RandomBlock block(std::uint64_t step, std::uint64_t sample,
                                                         std::uint32_t block) const;

  /// Returns one word of the stream: element `element` of sample `sample` at step `step`.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint32_t word(std::uint64_t step, std::uint64_t sample,
                                                          std::uint64_t element) const;

 private:
  // The finaliser of SplitMix64 (Steele, Lea, Flood 2014). It spreads the seed over all 64 bits of the key.
  [[nodiscard]] static constexpr std::uint64_t mix(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15ull;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
    return value ^ (value >> 31);
  }

  std::uint64_t key_ = 0;
};

/// Converts a random word to a float in [0, 1) with 24 random bits.
[[nodiscard]] KOKKOS_INLINE_FUNCTION float uniform_from(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 5.9604644775390625e-08f;
}

struct NormalPair {
  double first;
  double second;
};

/// Returns two independent normal numbers from two uniform ones: `above_zero` in (0, 1), `turn` in [0, 1)
/// (Box and Muller, Annals of Mathematical Statistics 29, 1958).
[[nodiscard]] inline NormalPair normal_pair(double above_zero, double turn) {
  const double radius = std::sqrt(-2 * std::log(above_zero));
  const double angle = 2 * 3.14159265358979323846 * turn;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace mylos
