// WeightUpdate: what follows the ranks' agreement, bucket by bucket. Where every rank has all masters, the
// sums of the gradients come to all, and each rank updates everything; where masters are cut over ranks
// (ZeRO-1, arXiv 1910.02054), each updates its own slice, and the new compute weights come to all. The same
// bytes travel, and the bits are the same.
//
// Gathers go on during the next step's forward pass, which asks for the weights of a block before it reads
// them. So they travel in forward order, while those of the backward pass (GradientReduction) go the other
// way.
//
// A skipped step gathers what is there already: the host need not know of it.
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
  /// All must outlive this object. What is gathered travels in the slots that a GradientReduction has
  /// reserved. The seconds that starting it takes, and waiting for it, are added to `communication_s`.
  WeightUpdate(Communicator& communicator, ParameterStore& parameters, const Optimizer& optimizer,
               double& communication_s);
  /// Gives up what is in flight.
  ~WeightUpdate();
  WeightUpdate(const WeightUpdate&) = delete;
  WeightUpdate& operator=(const WeightUpdate&) = delete;

  /// All ranks, with no other collective in flight. Does nothing where control->apply is 0. `control` is
  /// device memory, and stays as it is until finish().
  void start(const Execution& exec, const UpdateControl* control);
  /// Until the compute weights of this stage of the chain are the new ones. For stages in forward order; a
  /// rank that goes through none calls finish().
  void complete_block(const Execution& exec, std::size_t block);
  /// Until all are, and nothing is in flight. All ranks.
  void finish(const Execution& exec) { complete_down_to(exec, 0); }
  /// All ranks. Compute weights of masters that something else has written.
  void refresh(const Execution& exec);

 private:
  [[nodiscard]] bool shards_masters() const { return parameters_.layout().shard_owners > 1; }
  /// Buckets from the last down to this one.
  void complete_down_to(const Execution& exec, std::size_t bucket);
  /// What all ranks have to know of each other's parts before the first bucket moves.
  void exchange_norms(const Execution& exec);
  void start_gathers(const Execution& exec);
  void start_gather(const Execution& exec, std::size_t bucket);
  /// The memory in which it travels, with this rank's slice of it.
  [[nodiscard]] Tensor prepare_gather(const Execution& exec, std::size_t bucket);
  void end_gather(const Execution& exec, std::size_t bucket);

  Communicator& communicator_;
  ParameterStore& parameters_;
  const Optimizer& optimizer_;
  double& communication_s_;
  const UpdateControl* control_ = nullptr;           // none: masters are as they shall be
  std::vector<std::size_t> first_bucket_;            // of each stage's parameters
  std::array<Request, buckets_in_flight> requests_;  // of each slot
  std::size_t started_ = 0;                          // buckets from this one on
  std::size_t completed_ = 0;                        // and of these, those from this one on
};

}  // namespace mylos
