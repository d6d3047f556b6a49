// WeightUpdate: what follows the ranks' agreement. Each rank updates the masters that it holds; where they
// are cut over ranks (ZeRO-1, arXiv 1910.02054), the new compute weights then come to all, bucket by bucket:
// one travels while the next is updated.
//
// A skipped step gathers what is there already: the host need not know of it.
#pragma once

#include <array>

#include "mylos/comm/communicator.hpp"
#include "mylos/model/parameter_store.hpp"
#include "mylos/optim/gradient_reduction.hpp"
#include "mylos/optim/optimizer.hpp"

namespace mylos {

class WeightUpdate {
 public:
  /// All three must outlive this object. Weights travel in the slots that a GradientReduction has reserved.
  WeightUpdate(Communicator& communicator, ParameterStore& parameters, const Optimizer& optimizer)
      : communicator_(communicator), parameters_(parameters), optimizer_(optimizer) {}

  /// All ranks, with no other collective in flight. Does nothing where control->apply is 0. `control` is
  /// device memory.
  void start(const Execution& exec, const UpdateControl* control);
  /// Waits for weights that still travel: until then nobody reads them.
  void finish(const Execution& exec);
  /// All ranks. Compute weights of masters that something else has written.
  void refresh(const Execution& exec);

 private:
  void start_gather(const Execution& exec, std::size_t bucket);
  void end_gather(const Execution& exec, std::size_t bucket);

  Communicator& communicator_;
  ParameterStore& parameters_;
  const Optimizer& optimizer_;
  std::array<Request, buckets_in_flight> requests_;  // of each slot
};

}  // namespace mylos
