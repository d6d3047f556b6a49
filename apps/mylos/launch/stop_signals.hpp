// StopSignals: lets a run poll for SIGUSR1, SIGTERM and SIGINT between its steps.
//
// The signals are blocked, not handled: they stay pending, so no system call is interrupted, and a second one
// changes nothing while the checkpoint of the first is written.
#pragma once

#include <csignal>
#include <string>

namespace mylos::app {

class StopSignals {
 public:
  /// Blocks the signals in this thread and in threads that it starts later: construct it before MPI starts
  /// threads.
  StopSignals();
  /// Unblocks the signals, so that they end the process again.
  void release() const;
  /// The name of an arrived signal, "" if there is none.
  [[nodiscard]] std::string arrived() const;

 private:
  sigset_t signals_;
  sigset_t before_;
};

}  // namespace mylos::app
