// RunClock: the seconds that a run has taken in all its starts, and the division of this start's time.
#pragma once

#include <chrono>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/train/step/step_waits.hpp"

namespace mylos {

/// A rank's time by activity, in seconds. The parts add up to the elapsed time (docs/reference/metrics.md).
struct TimeParts {
  double compute_s = 0;        // in steps, except the next two
  double communication_s = 0;  // in steps
  double data_s = 0;           // in steps
  double evaluation_s = 0;
  double checkpoints_s = 0;  // stalls of steps by checkpoints, and the last checkpoint
  double other_s = 0;        // history, progress, the end of the run

  [[nodiscard]] double steps_s() const { return compute_s + communication_s + data_s; }
  /// Returns the time of training: all but evaluations and checkpoints. Speeds refer to this time.
  [[nodiscard]] double training_s() const { return steps_s() + other_s; }
  [[nodiscard]] double sum_s() const;
};

/// Calls `part` with each part's name, key in summary.json, and member pointer.
template <class Function>
constexpr void for_each_part(const Function& part) {
  part("compute", "compute_s", &TimeParts::compute_s);
  part("communication", "communication_s", &TimeParts::communication_s);
  part("data", "data_wait_s", &TimeParts::data_s);
  part("evaluation", "evaluation_s", &TimeParts::evaluation_s);
  part("checkpoints", "checkpoints_s", &TimeParts::checkpoints_s);
  part("other", "other_s", &TimeParts::other_s);
}

inline double TimeParts::sum_s() const {
  double sum = 0;
  for_each_part([&](const char*, const char*, auto field) { sum += this->*field; });
  return sum;
}

class RunClock {
 public:
  /// Starts the clock. Called before the first step.
  void start() { started_ = counted_ = Clock::now(); }
  /// Sets the time that earlier starts took. Called after a restart.
  void continue_from(double elapsed_s) { earlier_s_ = elapsed_s; }

  /// Prepares for another trainer, whose waits are counted from 0. The time since the last count is added to
  /// `other_s`.
  void change_trainer() {
    count(&TimeParts::other_s);
    counted_waits_ = {};
  }

  /// Counts the time since the last count as step time. `waits`: total waits of the trainer so far.
  void count_steps(const StepWaits& waits) {
    const double communication_s = waits.communication_s - counted_waits_.communication_s;
    const double data_s = waits.data_s - counted_waits_.data_s;
    counted_waits_ = waits;
    parts_.communication_s += communication_s;
    parts_.data_s += data_s;
    parts_.compute_s += since_last_s() - communication_s - data_s;
  }
  /// Counts the time since the last count as `part`.
  void count(double TimeParts::*part) { parts_.*part += since_last_s(); }

  /// Returns the seconds of earlier starts.
  [[nodiscard]] double earlier_s() const { return earlier_s_; }
  [[nodiscard]] double elapsed_s() const { return earlier_s_ + of_start_s(); }
  [[nodiscard]] double of_start_s() const { return seconds_since(started_); }
  /// Returns the parts of this start's time counted so far.
  [[nodiscard]] const TimeParts& parts() const { return parts_; }

 private:
  using Clock = std::chrono::steady_clock;

  double since_last_s() {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - counted_).count();
    counted_ = now;
    return seconds;
  }

  double earlier_s_ = 0;
  TimeParts parts_;
  StepWaits counted_waits_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point counted_ = started_;
};

}  // namespace mylos
