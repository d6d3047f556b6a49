// MicroBatchTree: adds the gradients and losses of a step's micro-batches by one fixed binary tree
// (binary_tree.hpp) over all micro-batches of the batch. The sums have the same bits on any number of ranks,
// provided that each rank's micro-batches form a node of the tree. The reduction over ranks adds these nodes.
//
// Sums that wait for their right neighbour take ⌈log2(micro-batches of a rank)⌉ float buffers of the size of
// the gradients.
#pragma once

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/device_array.hpp"
#include "mylos/base/device/memory_entry.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/model/block/loss_head.hpp"
#include "mylos/model/parameters/parameter_store.hpp"

namespace mylos {

class MicroBatchTree {
 public:
  /// `leaves`: micro-batches of this rank in a step. Gradients must be float. `parameters` must outlive this
  /// object.
  MicroBatchTree(const ParameterStore& parameters, int leaves);
  /// Returns the memory of a tree of this many leaves; 0: there is no tree.
  [[nodiscard]] static PartMemory memory(const ParameterLayout& layout, std::int64_t leaves);

  /// Starts a step.
  void begin() { leaf_ = stored_ = 0; }
  /// Adds all stored sums to the last micro-batch's gradients of a block, after those are complete.
  void add_to_block(const Execution& exec, std::size_t block) const;
  /// Adds the gradients and losses of a micro-batch to the tree, and zeroes the losses. After the last
  /// micro-batch the losses hold the sums of the step.
  void take(const Execution& exec, LossSums* losses);

 private:
  void take_gradients(const Execution& exec, int target) const;
  [[nodiscard]] Tensor stored_sum(int level, const ParameterSlot& slot) const;

  const ParameterStore& parameters_;
  int leaves_;
  int leaf_ = 0;     // the next micro-batch
  int stored_ = 0;   // number of stored sums
  Arena gradients_;  // gradients of each stored sum, in the layout of the gradients
  DeviceArray<LossSums> losses_;
};

}  // namespace mylos
