// BackgroundWriter: writes a checkpoint on a separate thread from a copy of the state, while the run
// continues.
//
// Only one process of the run has a BackgroundWriter. Its thread makes no MPI call, and shares HDF5 with
// other threads piece by piece.
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
  /// Allocates the memory of a copy of `state`.
  explicit BackgroundWriter(const CheckpointState& state) : copy_(state) {}

  /// Copies the state, starts writing and returns. The outcome reports whether the file was written. The
  /// outcome of the previous write must have been taken by take() or wait().
  void begin(const std::string& folder, CheckpointHeader header, const CheckpointState& state,
             const CheckpointOptions& options);
  /// Returns the outcome of a completed write, once.
  [[nodiscard]] std::optional<CheckpointOutcome> take();
  /// Waits for a write in flight and returns its outcome.
  [[nodiscard]] std::optional<CheckpointOutcome> wait();

 private:
  StateCopy copy_;
  CheckpointOutcome outcome_;  // owned by the task until it has ended
  BackgroundTask task_;        // its destructor waits for a write in flight
};

}  // namespace mylos
