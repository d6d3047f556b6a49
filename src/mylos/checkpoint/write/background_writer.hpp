// BackgroundWriter: writes a checkpoint on a thread of its own from a copy of the state, while the run goes
// on.
//
// One process of the run has one. Its thread makes no MPI call and shares HDF5 with the others piece by
// piece.
#pragma once

#include <optional>
#include <string>

#include "mylos/checkpoint/file/outcome.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/checkpoint/options.hpp"
#include "mylos/checkpoint/write/background_task.hpp"
#include "mylos/checkpoint/write/state_copy.hpp"

namespace mylos {

class BackgroundWriter {
 public:
  /// Takes the memory of a copy of `state` at once.
  explicit BackgroundWriter(const CheckpointState& state) : copy_(state) {}

  /// Copies the state and returns; the file appears, or not, when the outcome says so. The write before must
  /// have been taken by take() or wait().
  void begin(const std::string& folder, CheckpointHeader header, const CheckpointState& state,
             const CheckpointOptions& options);
  /// The outcome of a write that has ended, once.
  [[nodiscard]] std::optional<CheckpointOutcome> take();
  /// The same, after waiting for a write in flight.
  [[nodiscard]] std::optional<CheckpointOutcome> wait();

 private:
  StateCopy copy_;
  CheckpointOutcome outcome_;  // the task's until it has ended
  BackgroundTask task_;        // waits, at the end of its life, for a write in flight
};

}  // namespace mylos
