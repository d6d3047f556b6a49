// Buffers: what blocks keep beside their weights and is not trained: running statistics, and the sums from
// which they move. The loss's constants lie with them.
//
// State is moved once in a step, after the ranks have agreed to apply it, by sums over all samples of the
// step: over its micro-batches and over the ranks. So it is the same on all ranks, whoever computed what;
// a skipped step leaves it, and what is computed again does not move it twice. It lies in checkpoints as
// /buffers/LAYER/NAME. The rest is scratch of one micro-batch.
#pragma once

#include <string>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/model/block/buffer_spec.hpp"
#include "mylos/model/block/parameter_tensors.hpp"

namespace mylos {

struct Chain;

class BufferStore {
 public:
  /// Takes memory_bytes(), and sets every value to its initial one.
  explicit BufferStore(const Chain& chain);
  [[nodiscard]] static std::size_t memory_bytes(const Chain& chain);
  /// Of the state of a chain, in checkpoints.
  [[nodiscard]] static std::size_t state_bytes(const Chain& chain);
  /// Of the sums of a chain: what ranks exchange in a step.
  [[nodiscard]] static std::size_t sum_bytes(const Chain& chain);

  /// Those of a block, by the names of its buffers().
  [[nodiscard]] ParameterTensors of(std::size_t block) const {
    return blocks_.empty() ? ParameterTensors() : ParameterTensors(blocks_[block]);
  }
  /// Of the chain's head; null where it has none.
  [[nodiscard]] const float* constants() const { return constants_; }
  /// All blocks' sums as one row of doubles; empty where there are none.
  [[nodiscard]] const Tensor& sums() const { return sums_; }

  struct StateBuffer {
    std::string path;  // "LAYER/NAME"
    Tensor values;
  };
  [[nodiscard]] const std::vector<StateBuffer>& state() const { return state_; }

 private:
  Arena arena_;
  Tensor sums_;
  const float* constants_ = nullptr;
  std::vector<std::vector<NamedTensor>> blocks_;  // empty where no block has any
  std::vector<StateBuffer> state_;
};

}  // namespace mylos
