// Skips: boundary activations that a later block reads too (residual and U-Net connections).
//
// Block i maps x_i to x_{i+1}; besides it may read x_s with s < i, a skip. Until its last reader x_s is
// carried: the boundary x_j then is the tuple of its own tensor and of all that are carried past it, which
// are not copied. What backward does mirrors this: the last reader starts the gradient of x_s, earlier
// readers add to it, and backward of block s, which ends it, adds it to the gradient of its own input.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mylos {

/// Of a block that reads its input only.
inline constexpr std::size_t no_skip = static_cast<std::size_t>(-1);

class Skips {
 public:
  /// For each block the boundary that it reads besides its input, or no_skip. Throws bad input where one is
  /// not below the block's own input.
  explicit Skips(std::vector<std::size_t> sources);

  [[nodiscard]] bool none() const { return carried_.empty(); }
  /// The boundary that block `block` reads besides its input, or no_skip.
  [[nodiscard]] std::size_t source(std::size_t block) const { return sources_[block]; }
  /// The sources s < boundary that some block from `boundary` on reads, ascending.
  [[nodiscard]] std::span<const std::size_t> carried(std::size_t boundary) const {
    return none() ? std::span<const std::size_t>() : std::span<const std::size_t>(carried_[boundary]);
  }
  /// The last block that reads x_boundary as a skip, or no_skip.
  [[nodiscard]] std::size_t last_reader(std::size_t boundary) const { return last_readers_[boundary]; }
  /// Whether backward of `block` starts the gradient of its skip; the other readers add to it. The chain's
  /// input has none.
  [[nodiscard]] bool starts_gradient(std::size_t block) const {
    const std::size_t from = source(block);
    return from != no_skip && from > 0 && last_reader(from) == block;
  }

 private:
  std::vector<std::size_t> sources_;
  std::vector<std::size_t> last_readers_;          // of each boundary
  std::vector<std::vector<std::size_t>> carried_;  // of each boundary; empty where there is no skip at all
};

}  // namespace mylos
