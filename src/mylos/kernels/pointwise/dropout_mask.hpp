// DropoutMask: the factors by which kernels multiply the elements of a matrix for dropout (dropout.hpp).
#pragma once

#include <cstdint>

#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/kernels/pointwise/dropout.hpp"

namespace mylos {

/// Dropout in the form that kernels use.
class DropoutMask {
 public:
  explicit DropoutMask(const Dropout& dropout)
      : stream_(dropout.stream),
        step_(dropout.step),
        first_sample_(dropout.first_sample),
        threshold_(
            static_cast<std::uint32_t>((1.0 - static_cast<double>(dropout.probability)) * 4294967295.0)),
        scale_(1.0f / (1.0f - dropout.probability)),
        active_(dropout.active()) {}

  [[nodiscard]] KOKKOS_INLINE_FUNCTION bool active() const { return active_; }
  /// Returns the factor of elements that survive; 1 without dropout.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float scale() const { return scale_; }

  /// Writes factor[i] = scale() or 0 for the columns [first, first + count) of a tile. Writes a multiple of
  /// four factors.
  KOKKOS_INLINE_FUNCTION void factors(std::int64_t row, std::int64_t first, std::int64_t count,
                                      float* factor) const {
    if constexpr (runs_on_host) {
      KOKKOS_IF_ON_HOST((factors_on_host(row, first, count, factor);))
    } else {
      const std::uint64_t step = *step_;
      for (std::int64_t i = 0; i < tile_width; i += 4) {
        if (i < count) block_factors(step, row, (first + i) / 4, factor + i);
      }
    }
  }

  /// As factors(), where `first` need not be a multiple of 4.
  KOKKOS_INLINE_FUNCTION void shifted_factors(std::int64_t row, std::int64_t first, std::int64_t count,
                                              float* factor) const {
    const std::uint64_t step = *step_;
    const auto shift = static_cast<int>(first % 4);
    float low[4];
    float high[4];
    block_factors(step, row, first / 4, low);
    for (std::int64_t i = 0; i < tile_width; i += 4) {
      if (i >= count) continue;
      block_factors(step, row, (first + i) / 4 + 1, high);
      // Fixed indices keep the arrays in a device's registers.
      factor[i] = shift == 0 ? low[0] : shift == 1 ? low[1] : shift == 2 ? low[2] : low[3];
      factor[i + 1] = shift == 0 ? low[1] : shift == 1 ? low[2] : shift == 2 ? low[3] : high[0];
      factor[i + 2] = shift == 0 ? low[2] : shift == 1 ? low[3] : shift == 2 ? high[0] : high[1];
      factor[i + 3] = shift == 0 ? low[3] : shift == 1 ? high[0] : shift == 2 ? high[1] : high[2];
      for (int k = 0; k < 4; ++k) low[k] = high[k];
    }
  }

  /// Writes factor[i * stride + r] = scale() or 0 for the columns first + i, i < 4, and the rows first_row +
  /// r, r < rows. Host only; `first` must be a multiple of 4.
  void transposed_factors(std::int64_t first_row, std::int64_t rows, std::int64_t first, float* factor,
                          std::int64_t stride) const;

 private:
  /// Writes the four factors of one random block.
  KOKKOS_FORCEINLINE_FUNCTION void block_factors(std::uint64_t step, std::int64_t row, std::int64_t block,
                                                 float* factor) const {
    const RandomBlock random = stream_.block(step, first_sample_ + static_cast<std::uint64_t>(row),
                                             static_cast<std::uint32_t>(block));
    factor[0] = random.word[0] < threshold_ ? scale_ : 0.0f;
    factor[1] = random.word[1] < threshold_ ? scale_ : 0.0f;
    factor[2] = random.word[2] < threshold_ ? scale_ : 0.0f;
    factor[3] = random.word[3] < threshold_ ? scale_ : 0.0f;
  }

  /// A separate function: inlined into large kernels, the generator's loop did not vectorise.
  void factors_on_host(std::int64_t row, std::int64_t first, std::int64_t count, float* factor) const;

  RandomStream stream_;
  const std::uint64_t* step_;
  std::uint64_t first_sample_;
  std::uint32_t threshold_;
  float scale_;
  bool active_;
};

}  // namespace mylos
