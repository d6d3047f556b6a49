// Skips: boundary activations that a later block also reads (residual and U-Net connections).
//
// Block i maps x_i to x_{i+1}, and may also read x_s with s < i, a skip tensor. x_s is live until its last
// reader: the boundary x_j is then the tuple of its own tensor and all skip tensors that are live there,
// which are not copied. Backward mirrors this: the last reader writes the gradient of x_s, earlier readers
// add to it, and backward of block s adds it to the gradient of that block's own input.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mylos {

/// The source of a block that reads only its input.
inline constexpr std::size_t no_skip = static_cast<std::size_t>(-1);

class Skips {
 public:
  /// `sources`: for each block the boundary that it reads besides its input, or no_skip. Throws bad input if
  /// one is not below the block's own input.
  explicit Skips(std::vector<std::size_t> sources);

  [[nodiscard]] bool none() const { return carried_.empty(); }
  /// Returns the boundary that `block` reads besides its input, or no_skip.
  [[nodiscard]] std::size_t source(std::size_t block) const { return sources_[block]; }
  /// Returns the skip tensors that are live across a boundary: the sources s < boundary that some block from
  /// `boundary` on reads, ascending.
  [[nodiscard]] std::span<const std::size_t> carried(std::size_t boundary) const {
    return none() ? std::span<const std::size_t>() : std::span<const std::size_t>(carried_[boundary]);
  }
  /// Returns the last block that reads x_boundary as a skip, or no_skip.
  [[nodiscard]] std::size_t last_reader(std::size_t boundary) const { return last_readers_[boundary]; }
  /// Returns whether backward of `block` writes the gradient of its skip first; the other readers add to it.
  /// The chain's input has no gradient.
  [[nodiscard]] bool starts_gradient(std::size_t block) const {
    const std::size_t from = source(block);
    return from != no_skip && from > 0 && last_reader(from) == block;
  }

 private:
  std::vector<std::size_t> sources_;
  std::vector<std::size_t> last_readers_;          // of each boundary
  std::vector<std::vector<std::size_t>> carried_;  // of each boundary; empty if there are no skips
};

}  // namespace mylos
