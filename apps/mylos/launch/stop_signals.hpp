// StopSignals: SIGUSR1, SIGTERM and SIGINT as a question that a run asks between its steps.
//
// The signals are blocked, not handled: they stay pending, so no system call is interrupted, and a second one
// changes nothing while the checkpoint of the first is written.
#pragma once

#include <csignal>
#include <string>

namespace mylos::app {

class StopSignals {
 public:
  /// Blocks the signals in this thread and in those that it starts from now on: make it before MPI starts
  /// any.
  StopSignals();
  /// Lets them end the process again, as they do a program that has nothing to save.
  void release() const;
  /// The name of one that has arrived, "" if none has.
  [[nodiscard]] std::string arrived() const;

 private:
  sigset_t signals_;
  sigset_t before_;
};

}  // namespace mylos::app
