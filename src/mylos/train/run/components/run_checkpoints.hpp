// RunCheckpoints: when a run writes a checkpoint, and how: beside the steps from a copy, or between two of
// them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "mylos/checkpoint/file/state.hpp"
#include "mylos/checkpoint/options.hpp"
#include "mylos/checkpoint/write/background_writer.hpp"
#include "mylos/checkpoint/write/piece_writer.hpp"
#include "mylos/comm/group/communicator.hpp"

namespace mylos {

class RunCheckpoints {
 public:
  /// What the run does on this rank when something was written, when something could not be written and the
  /// run need not end at once, and before ranks exchange something between steps.
  struct Listener {
    std::function<void(const std::string& line)> note;
    std::function<void(const Error& error)> trouble;
    std::function<void()> free_ranks;
  };

  RunCheckpoints(const CheckpointOptions& options, std::string folder, Communicator& communicator,
                 Listener listener);

  /// All ranks. From now on they are written beside the steps, where the deck wants that. Returns why not,
  /// if it does; `fits`: memory was planned for the copy.
  [[nodiscard]] std::string write_beside_steps(const CheckpointState& state, bool fits);

  /// All ranks, once after each step. `log_point`: the run has time to ask rank 0 for the time of day.
  /// `last`: no step follows, and the run's end writes one anyway.
  void decide(std::int64_t step, bool log_point, bool last);
  /// All ranks, after that: one is to be written now, whatever was decided.
  void demand() { due_ = true; }
  /// As was decided last.
  [[nodiscard]] bool due() const { return due_; }

  /// All ranks. Steps wait from here to the end of `write`; a write that was in flight has ended.
  void begin();
  /// All ranks, with nothing of the state in the making. The last one of a start is written at once, and what
  /// it throws ends the run.
  void write(const CheckpointHeader& header, const CheckpointState& state, const Execution& exec, bool last);

  /// Hears of a write in flight that has ended.
  void poll();
  /// All ranks. Waits for its end.
  void wait();

  /// That a file holds which was written between steps or restarted from; -1: none.
  [[nodiscard]] std::int64_t saved_step() const { return saved_step_; }
  void restarted_from(std::int64_t step) { saved_step_ = step; }
  /// Of the longest write.
  [[nodiscard]] double longest_s() const { return longest_s_; }
  /// For the final table; `elapsed_s`: of this start.
  [[nodiscard]] std::string summary(double elapsed_s) const;

 private:
  void write_between_steps(const CheckpointHeader& header, const CheckpointState& state, bool last);
  void note_outcome(const CheckpointOutcome& outcome);
  void note_file(const std::string& path);

  CheckpointOptions options_;
  std::string folder_;
  Communicator& communicator_;
  Listener listener_;
  // Of a run that writes beside the steps: on rank 0, or on all ranks where the state is cut over them.
  std::unique_ptr<BackgroundWriter> writer_;
  std::unique_ptr<PieceWriter> piece_writer_;
  bool beside_steps_ = false;  // on all ranks of such a run
  bool due_ = false;
  std::chrono::steady_clock::time_point begun_;
  std::int64_t saved_step_ = -1;
  double longest_s_ = 0;
  double held_s_ = 0;  // that steps waited
  std::int64_t written_ = 0;
  std::int64_t written_beside_steps_ = 0;
};

}  // namespace mylos
