// Heartbeat: which ranks of a sweep still run. Its groups exchange nothing while they train, for days
// perhaps: each rank renews the time of a file in the sweep's folder, on a thread of its own, and a rank that
// waits for other groups polls these files.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace mylos {

class Heartbeat {
 public:
  /// `folder`: of the sweep, with its journal. `timeout_s`: a rank that is silent for longer is lost. Throws
  /// Error (failed) if this rank's file cannot be made.
  Heartbeat(const std::string& folder, int rank, int ranks, double timeout_s);
  /// Removes this rank's file.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Called again and again by a rank that waits. Throws Error (communication_failed) that names the ranks
  /// whose files have not changed for the timeout since they were first polled.
  void require_all();

 private:
  using Clock = std::chrono::steady_clock;
  struct Sign {
    std::chrono::nanoseconds time{-1};
    Clock::time_point seen;
  };
  [[nodiscard]] std::string path(int rank) const;
  void beat();

  std::string folder_;
  int rank_;
  double timeout_s_;
  std::chrono::duration<double> between_;
  std::vector<Sign> signs_;
  Clock::time_point next_poll_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace mylos
