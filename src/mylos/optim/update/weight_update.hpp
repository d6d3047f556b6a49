// WeightUpdate: the update after the ranks' agreement, bucket by bucket. If every rank has all masters, the
// gradient sums are gathered on all ranks, and each rank updates everything. If masters are sharded (ZeRO-1,
// arXiv 1910.02054), each rank updates its own slice, and the new compute weights are gathered. Both exchange
// the same number of bytes and give the same bits.
//
// Gathers continue during the next step's forward pass, which waits for the weights of a block before it
// reads them. They therefore run in forward order, while the reductions of the backward pass
// (GradientReduction) run in backward order.
//
// A skipped step gathers the unchanged data, so that the host need not know that it was skipped.
#pragma once

#include <array>
#include <vector>

#include "mylos/comm/group/communicator.hpp"
#include "mylos/model/parameters/parameter_store.hpp"
#include "mylos/optim/gradients/gradient_reduction.hpp"
#include "mylos/optim/update/optimizer.hpp"

namespace mylos {

class WeightUpdate {
 public:
  /// All references must outlive this object. Gathers use the slots reserved by a GradientReduction. The
  /// seconds of starting gathers and waiting for them are added to `communication_s`.
  WeightUpdate(Communicator& communicator, ParameterStore& parameters, const Optimizer& optimizer,
               double& communication_s);
  /// Abandons the gathers in flight.
  ~WeightUpdate();
  WeightUpdate(const WeightUpdate&) = delete;
  WeightUpdate& operator=(const WeightUpdate&) = delete;

  /// Starts the update and the gathers. All ranks call this, with no other collective in flight. Does nothing
  /// if control->apply is 0. `control` is device memory, and must not change until finish().
  void start(const Execution& exec, const UpdateControl* control);
  /// Leaves the start to the next complete_block() or finish(), so that no gather is in flight until then.
  void start_later(const UpdateControl* control) {
    control_ = control;
    starts_later_ = true;
  }
  /// Returns whether an update has not been started, or its gathers are in flight.
  [[nodiscard]] bool is_pending() const { return starts_later_ || completed_ > 0; }
  /// Called instead of finish(), after a captured graph has started and finished the update of start_later().
  void on_finished_by_graph() { starts_later_ = false; }
  /// Called if the capture of an update has failed: it is as it was before it began.
  void undo_capture(bool was_pending) {
    started_ = completed_ = 0;
    starts_later_ = was_pending;
  }
  /// Waits until the compute weights of this stage of the chain are updated. Called in forward order; a rank
  /// without a forward pass calls finish().
  void complete_block(const Execution& exec, std::size_t block);
  /// Waits until all weights are updated and no gather is in flight. All ranks call this.
  void finish(const Execution& exec) { complete_down_to(exec, 0); }
  /// Recomputes the compute weights from masters that were written from elsewhere. All ranks call this.
  void refresh(const Execution& exec);

 private:
  [[nodiscard]] bool shards_masters() const { return parameters_.layout().shard_owners > 1; }
  /// Completes the buckets from the last down to this one.
  void complete_down_to(const Execution& exec, std::size_t bucket);
  /// Exchanges the norms that all ranks need before the first bucket is updated.
  void exchange_norms(const Execution& exec);
  void start_gathers(const Execution& exec);
  void start_gather(const Execution& exec, std::size_t bucket);
  /// Returns the memory to gather, filled with this rank's slice.
  [[nodiscard]] Tensor prepare_gather(const Execution& exec, std::size_t bucket);
  void end_gather(const Execution& exec, std::size_t bucket);

  Communicator& communicator_;
  ParameterStore& parameters_;
  const Optimizer& optimizer_;
  double& communication_s_;
  const UpdateControl* control_ = nullptr;           // null: the masters need no update
  std::vector<std::size_t> first_bucket_;            // first bucket of each stage's parameters
  std::array<Request, buckets_in_flight> requests_;  // of each slot
  std::size_t started_ = 0;                          // buckets from this index on
  std::size_t completed_ = 0;                        // completed buckets, from this index on
  bool starts_later_ = false;
};

}  // namespace mylos
