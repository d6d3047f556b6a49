// MicroBatchTree: adds up the gradients and losses of a step's micro-batches by one fixed binary tree
// (binary_tree.hpp) over all micro-batches of the batch, so that the sums have the same bits on any number of
// ranks whose micro-batches are a node of it. The reduction over ranks adds them up above these nodes.
//
// The sums that wait for their right neighbour take ⌈log2(micro-batches of a rank)⌉ buffers of floats, each
// as large as the gradients.
#pragma once

#include "mylos/base/device/arena.hpp"
#include "mylos/model/block/loss_head.hpp"
#include "mylos/model/parameters/parameter_store.hpp"

namespace mylos {

class MicroBatchTree {
 public:
  /// `leaves`: micro-batches of this rank in a step. Gradients are floats. `parameters` must outlive it.
  MicroBatchTree(const ParameterStore& parameters, int leaves);
  [[nodiscard]] static std::size_t memory_bytes(const ParameterLayout& layout, int leaves);

  /// A step begins.
  void begin() { leaf_ = waiting_ = 0; }
  /// Adds all that waits to the last micro-batch's gradients of a block, once those are complete.
  void add_to_block(const Execution& exec, std::size_t block) const;
  /// Takes the gradients and losses of a micro-batch, and zeroes the losses; those of the last one become the
  /// sums of the step.
  void take(const Execution& exec, LossSums* losses);

 private:
  void take_gradients(const Execution& exec, int kept) const;
  [[nodiscard]] Tensor waiting(int level, const ParameterSlot& slot) const;

  const ParameterStore& parameters_;
  int leaves_;
  int leaf_ = 0;     // that comes next
  int waiting_ = 0;  // sums
  Arena gradients_;  // of each, laid out like the gradients
  Kokkos::View<LossSums*, Device> losses_;
};

}  // namespace mylos
