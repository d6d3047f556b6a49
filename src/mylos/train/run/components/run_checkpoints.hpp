// RunCheckpoints: when a run writes a checkpoint, and how: asynchronously from a copy of its state, or
// between two steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "mylos/checkpoint/file/state.hpp"
#include "mylos/checkpoint/options.hpp"
#include "mylos/checkpoint/write/background_writer.hpp"
#include "mylos/checkpoint/write/piece_writer.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/train/run/components/run_component.hpp"

namespace mylos {

class RunCheckpoints final : public RunComponent {
 public:
  RunCheckpoints(const CheckpointOptions& options, std::string folder, Communicator& communicator);

  /// All ranks. Writes asynchronously from now on, if the deck asks for it. Returns why that is not possible;
  /// "": it is. `fits`: memory was planned for the copy.
  [[nodiscard]] std::string write_asynchronously(const CheckpointState& state, bool fits);

  /// Decides whether a checkpoint is due after this step. In a regular step all ranks ask rank 0 for the
  /// time.
  bool wants_step(RunContext& run, const LastStep& step) override;
  /// Handles an asynchronous write that has ended.
  void after_step(RunContext& run, LastStep& step) override;
  /// Notes that the run resumes from a checkpoint.
  std::vector<std::string> restore(RunContext& run, const CheckpointState& state,
                                   const std::string& source) override;
  /// Waits for an asynchronous write.
  void finish(RunContext& run, const Quiesced& quiet) override;

  /// All ranks, after wants_step(): a checkpoint is due now, whatever was decided.
  void demand() { due_ = true; }
  [[nodiscard]] bool due() const { return due_; }

  /// All ranks. Steps wait from here to the end of write(). Waits for an asynchronous write.
  void begin(const Quiesced& quiet, RunContext& run);
  /// All ranks. Writes the `last` checkpoint of a segment at once; its errors end the run.
  void write(const Quiesced& quiet, RunContext& run, const CheckpointHeader& header,
             const CheckpointState& state, bool last);
  /// All ranks. Waits for an asynchronous write.
  void wait(const Quiesced& quiet, RunContext& run);

  /// Returns the step of the last checkpoint that was written between steps or from which the run resumed;
  /// -1: none.
  [[nodiscard]] std::int64_t saved_step() const { return saved_step_; }
  /// Returns the duration of the longest write.
  [[nodiscard]] double longest_s() const { return longest_s_; }
  /// Returns a line of the final table. `elapsed_s`: of this start.
  [[nodiscard]] std::string summary(double elapsed_s) const;

 private:
  void write_between_steps(RunContext& run, const CheckpointHeader& header, const CheckpointState& state,
                           bool last);
  void note_outcome(RunContext& run, const CheckpointOutcome& outcome);
  void note_file(RunContext& run, const std::string& path);

  CheckpointOptions options_;
  std::string folder_;
  Communicator& communicator_;
  // Of asynchronous writes: on rank 0, or on all ranks if the state is sharded.
  std::unique_ptr<BackgroundWriter> writer_;
  std::unique_ptr<PieceWriter> piece_writer_;
  bool is_asynchronous_ = false;  // on all ranks
  bool due_ = false;
  std::chrono::steady_clock::time_point begun_;
  std::int64_t saved_step_ = -1;
  double longest_s_ = 0;
  double stalled_s_ = 0;  // steps waited
  std::int64_t written_ = 0;
  std::int64_t written_asynchronously_ = 0;
};

}  // namespace mylos
