// StopRequests: why this rank wants the run to stop at the next step's boundary: a signal, a file `stop` in
// the run's folder, or the end of the time that the job has. Ranks agree on it in the step, and which of them
// asked first.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

struct StopSources {
  std::function<std::string()> signal = [] { return std::string(); };  // the name of one that arrived, or ""
  std::function<void()> announced = [] {};  // called once the run has said that it stops
  std::string file;                         // "": this rank looks for none
  double walltime_s = 0;                    // since `started`; 0 = no end
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

class StopRequests {
 public:
  explicit StopRequests(StopSources sources = {}) : sources_(std::move(sources)) {}

  /// `reserve_s`: what the step to come, a checkpoint and the end of the program may still take.
  [[nodiscard]] bool due(double reserve_s);
  /// Why it was due: "SIGUSR1", "the file runs/a/stop". Empty before.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  /// What the ranks agreed on in a step: the rank that asked, + 1; 0: none.
  void agree(std::int32_t rank_number) {
    if (rank_number != 0) asking_rank_ = rank_number - 1;
  }
  [[nodiscard]] bool agreed() const { return asking_rank_ >= 0; }
  /// The run has said that it stops.
  void announced() const { sources_.announced(); }
  /// All ranks, after they agreed: "SIGUSR1, on rank 1".
  [[nodiscard]] std::string agreed_reason(RankGroup& ranks) const;

 private:
  [[nodiscard]] bool file_is_there();

  StopSources sources_;
  std::string reason_;
  std::int32_t asking_rank_ = -1;                    // first of those that the ranks agreed on
  std::chrono::steady_clock::time_point next_look_;  // for the file
  std::chrono::steady_clock::duration shortest_look_ = std::chrono::seconds(1);
};

}  // namespace mylos
