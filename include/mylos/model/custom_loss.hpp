// CustomLoss: a loss that a host program brings. Decks of the program say model.loss = "custom".
//
//   mylos::Options options = mylos::read_deck("surrogate.toml");
//   options.model.custom_loss = std::make_shared<WeightedError>();
//   mylos::OnlineTrainer network(options, communicator);
//
// It is the loss of OnlineTrainer::step(), scaled, split into micro-batches and averaged over ranks like
// those of Mylos. Files of the network need it only where the loss is computed: Model computes outputs
// without it.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/kernels/loss_arrays.hpp"

namespace mylos {

/// The mean over samples of a function of a sample's outputs and targets. Threads may call it at the same
/// time.
class CustomLoss {
 public:
  virtual ~CustomLoss() = default;

  /// Computes the loss of each row and, where there is memory for it, its gradient, by kernels on `exec`.
  /// Allocates nothing and does not wait for a device. The gradient may have the memory of the predictions:
  /// an element is read before its gradient is written. inf and NaN are written as they come: a gradient that
  /// has one makes all ranks skip the step, a loss that has one is only reported.
  virtual void compute(const Execution& exec, const LossArrays& arrays) const = 0;
};

}  // namespace mylos
