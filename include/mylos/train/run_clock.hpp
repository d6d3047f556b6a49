// RunClock: the seconds that a run has taken over all its starts, and those of this start that went into
// steps.
#pragma once

#include <chrono>

#include "mylos/base/seconds_since.hpp"

namespace mylos {

class RunClock {
 public:
  /// Steps begin now.
  void start() { started_ = counted_ = Clock::now(); }
  /// After a restart: what earlier starts took.
  void go_on_from(double elapsed_s) { earlier_s_ = elapsed_s; }

  /// Counts what went by since the last call of these two as steps, and returns it.
  double count_steps() {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - counted_).count();
    steps_s_ += seconds;
    counted_ = now;
    return seconds;
  }
  /// Counts it as something else.
  void leave_out() { counted_ = Clock::now(); }

  [[nodiscard]] double elapsed_s() const { return earlier_s_ + of_start_s(); }
  [[nodiscard]] double of_start_s() const { return seconds_since(started_); }
  /// Of this start, without evaluations and checkpoints.
  [[nodiscard]] double steps_s() const { return steps_s_; }

 private:
  using Clock = std::chrono::steady_clock;

  double earlier_s_ = 0;
  double steps_s_ = 0;
  Clock::time_point started_ = Clock::now();
  Clock::time_point counted_ = started_;
};

}  // namespace mylos
