// Quiesced: proof that no exchange of a training step is in flight.
#pragma once

#include "mylos/comm/group/communicator.hpp"

namespace mylos {

class Trainer;

/// Returned by Trainer::quiesce(). Functions that read the network or exchange data over MPI outside the step
/// take one, so that a call without quiesce() does not compile. It is valid until the next step.
class Quiesced {
 public:
  Quiesced(Quiesced&&) noexcept = default;
  Quiesced& operator=(Quiesced&&) noexcept = default;
  Quiesced(const Quiesced&) = delete;
  Quiesced& operator=(const Quiesced&) = delete;
  ~Quiesced() = default;

  /// Returns one where there is no trainer: only what was enqueued on `exec` can be in flight, and it waits
  /// for that.
  static Quiesced without_trainer(Communicator& communicator, const Execution& exec) {
    communicator.synchronize(exec);
    return {};
  }

 private:
  friend class Trainer;
  Quiesced() = default;
};

}  // namespace mylos
