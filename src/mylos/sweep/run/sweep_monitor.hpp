// SweepMonitor: writes sweep.csv and prints a line for each result, while the ranks of this process train. It
// reads files alone, on a thread of its own: one process of a sweep has it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "mylos/sweep/run/sweep.hpp"
#include "mylos/sweep/state/journal.hpp"

namespace mylos {

class SweepMonitor {
 public:
  /// `line` prints a line; the thread calls it.
  SweepMonitor(const Sweep& sweep, std::function<void(const std::string&)> line);
  ~SweepMonitor();
  SweepMonitor(const SweepMonitor&) = delete;
  SweepMonitor& operator=(const SweepMonitor&) = delete;

  /// Ends the thread, reads the last results and writes sweep.csv for the last time. Throws Error if it
  /// cannot be written.
  void finish();
  /// Returns the rows as finish() read them. Only after finish(): until then the thread changes them.
  [[nodiscard]] std::vector<MemberRow> rows() const { return journal_.rows(); }

 private:
  void watch();
  void update();
  void end_thread();
  void print_results();
  [[nodiscard]] double work() const;
  [[nodiscard]] std::string summary() const;

  const Sweep& sweep_;
  std::function<void(const std::string&)> line_;
  Journal journal_;
  std::vector<std::size_t> printed_;  // the results of each member that have been printed
  double first_work_ = 0;             // before this start
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::thread thread_;
};

/// Returns the best members, the best first: those with a value.
[[nodiscard]] std::vector<std::size_t> best_members(const std::vector<MemberRow>& rows,
                                                    bool higher_is_better);

}  // namespace mylos
