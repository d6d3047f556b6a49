// RolloutChain: copies of a network, one after the other, which share its parameters.
//
// The chain of K copies is a chain like any other: the blocks of copy 0, a feedback, the blocks of copy 1, …,
// and the loss of the last copy. With L blocks per copy, block i belongs to copy i / (L + 1) and is its stage
// i % (L + 1), of which stage L is the feedback, or the head. Only the backward passes of copies after the
// first compute the gradient of their input. Dropout draws other numbers in each copy.
//
// With `detach` no gradient passes a feedback, and each copy is a chain with a micro-batch of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/rollout.hpp"

namespace mylos {

struct RolloutChain {
  RolloutOptions options;
  std::uint64_t seed = 0;
  std::vector<Chain> copies;        // one per step
  std::optional<GridBox> box = {};  // of the samples' grids, if they are divided

  /// Returns the chain of the first `count` copies.
  [[nodiscard]] Chain unrolled(std::int64_t count) const;
  /// Returns a copy alone, with the loss of its step.
  [[nodiscard]] Chain alone(std::int64_t copy) const;
  /// Returns whether copies run as passes of their own.
  [[nodiscard]] bool runs_alone() const { return options.detach || options.steps == 1; }
  /// Returns the chain for which memory is planned: the largest that runs at a time.
  [[nodiscard]] Chain planned() const { return runs_alone() ? alone(0) : unrolled(options.steps); }
  /// Returns whether the steps of a run have different numbers of copies.
  [[nodiscard]] bool grows() const { return options.grow_every > 0 && options.steps > 1; }
};

/// Returns the copies that the training step after `step` others runs.
[[nodiscard]] std::int64_t copies_at(const RolloutOptions& options, std::uint64_t step);

/// Returns the weights of the losses of `copies` copies. The weights of a list belong to the last copies, and
/// have the sum of the list.
[[nodiscard]] std::vector<float> loss_weights(const RolloutOptions& options, std::int64_t copies);

/// Returns the stage of one copy to which a block of a chain of copies of `blocks` blocks belongs.
[[nodiscard]] inline std::size_t stage_of_copy(std::size_t block, std::size_t blocks) {
  return block % (blocks + 1);
}

}  // namespace mylos
