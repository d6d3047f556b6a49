// Quiesced: proof that no exchange of a training step is in flight.
#pragma once

namespace mylos {

class Trainer;

/// Returned by Trainer::quiesce() alone. Functions that read the network or exchange data over MPI outside
/// the step take one, so that a call without quiesce() does not compile. It is valid until the next step.
class Quiesced {
 public:
  Quiesced(Quiesced&&) noexcept = default;
  Quiesced& operator=(Quiesced&&) noexcept = default;
  Quiesced(const Quiesced&) = delete;
  Quiesced& operator=(const Quiesced&) = delete;
  ~Quiesced() = default;

 private:
  friend class Trainer;
  Quiesced() = default;
};

}  // namespace mylos
