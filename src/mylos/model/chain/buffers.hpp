// Buffers: tensors of blocks that are not trained: running statistics and the sums that update them. The
// loss's constants lie in the same memory.
//
// Each step updates the state once, after the ranks have agreed to apply the step, from sums over all samples
// of the step: over its micro-batches and over the ranks. So all ranks have the same state, however the work
// was divided; a skipped step leaves it unchanged, and recomputation does not update it twice. Checkpoints
// store it as /buffers/LAYER/NAME. The other buffers are scratch memory of one micro-batch, and constants,
// which blocks share by name.
#pragma once

#include <string>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/memory_entry.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/model/buffer_spec.hpp"
#include "mylos/model/parameter_tensors.hpp"

namespace mylos {

struct Chain;

class BufferStore {
 public:
  /// Allocates memory_bytes() and sets every value to its initial value.
  explicit BufferStore(const Chain& chain);
  [[nodiscard]] static std::size_t memory_bytes(const Chain& chain);
  [[nodiscard]] static PartMemory memory(const Chain& chain);
  /// Returns the bytes of a chain's state, as checkpoints store it.
  [[nodiscard]] static std::size_t state_bytes(const Chain& chain);
  /// Returns the bytes of a chain's sums, which ranks exchange once per step.
  [[nodiscard]] static std::size_t sum_bytes(const Chain& chain);

  /// Returns the buffers of a block, by the names of its buffers(); none of a block beyond the chain's, as
  /// rollouts have between their copies.
  [[nodiscard]] ParameterTensors of(std::size_t block) const {
    return block >= blocks_.size() ? ParameterTensors() : ParameterTensors(blocks_[block]);
  }
  /// Returns the constants of the chain's head; null if it has none.
  [[nodiscard]] const float* constants() const { return constants_; }
  /// Returns the sums of all blocks as one row of doubles; empty if there are none.
  [[nodiscard]] const Tensor& sums() const { return sums_; }

  struct StateBuffer {
    std::string path;  // "LAYER/NAME"
    Tensor values;
  };
  [[nodiscard]] const std::vector<StateBuffer>& state() const { return state_; }

 private:
  [[nodiscard]] static std::size_t block_bytes(const Chain& chain);
  /// Returns the bytes of a chain's constants, without the loss's.
  [[nodiscard]] static std::size_t constant_bytes(const Chain& chain);
  [[nodiscard]] std::vector<NamedTensor> set_constants(const Execution& exec, const Chain& chain);

  Arena arena_;
  Arena constants_arena_;
  Tensor sums_;
  const float* constants_ = nullptr;
  std::vector<std::vector<NamedTensor>> blocks_;  // empty if no block has buffers
  std::vector<StateBuffer> state_;
};

}  // namespace mylos
