// Run: one segment of a training run: a list of components that Run calls in a fixed order. A run that
// changes its own deck ends its segment, and the next segment resumes from a checkpoint in the same process
// (EarlierSegment).
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "mylos/train/run/components/run_changes.hpp"
#include "mylos/train/run/components/run_checkpoints.hpp"
#include "mylos/train/run/components/run_context.hpp"
#include "mylos/train/run/components/run_evaluations.hpp"
#include "mylos/train/run/components/run_faults.hpp"
#include "mylos/train/run/components/run_records.hpp"
#include "mylos/train/run/components/run_stop.hpp"
#include "mylos/train/run/run_request.hpp"
#include "mylos/train/run/run_summary.hpp"
#include "mylos/train/start/run_state.hpp"

namespace mylos {

struct RunStart;

class Run {
 public:
  /// Allocates what `start` has planned, restores the checkpoint that the request asks for, and opens the
  /// run's files. Throws Error on all ranks.
  explicit Run(RunStart&& start);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Whether this start is over: at the end of the run, after `stop_after` steps, after an agreed stop
  /// request, or when the run's patience is over.
  [[nodiscard]] bool finished() const;
  /// Trains one step on the next batch.
  void step();
  /// Lets every component act on the step, if it can be read without waiting for a device or must be logged.
  /// Throws Error on all ranks if the run cannot continue.
  void after_step();
  void evaluate_if_due();
  /// Ends the segment if the step led to a change of types.
  void adapt_if_proposed();
  void write_checkpoint_if_due();
  /// Whether the run continues in another segment, with next_request(). This segment must be destroyed first:
  /// it holds the memory.
  [[nodiscard]] bool segment_is_over() const { return context_.next.has_value(); }
  [[nodiscard]] RunRequest next_request() { return context_.take_next_request(); }
  /// Writes the last checkpoint, the summary and summary.json. Returns ExitCode::requeue if the run is
  /// neither at its end nor stopped early.
  ExitCode finish();
  [[nodiscard]] const RunPosition& position() const { return context_.position; }
  /// Called before an error ends the run: writes the rows of the steps since the last log point, if possible.
  void keep_history() { records_.keep(context_); }

 private:
  /// Returns the components in the order in which they act on a step, save, restore and finish.
  [[nodiscard]] std::array<RunComponent*, 6> components() {
    return {&faults_, &stop_, &evaluations_, &records_, &changes_, &checkpoints_};
  }
  void restore(const RunStart& start);
  void open_folder(const RunStart& start);
  /// All ranks. Writes the `last` checkpoint of a segment at once.
  void write_checkpoint(bool last);
  /// Marks the lock of the folder when this start is ending, for a start that waits for it.
  void announce_end();
  /// Returns the seconds that the next step, a checkpoint and the end of the program may take.
  [[nodiscard]] double reserve_s() const;
  [[nodiscard]] RunSummary summarize(const RunMetrics& metrics) const;

  RunContext context_;
  RunState state_;  // in checkpoints, besides the components' and the trainer's
  RunEvaluations evaluations_;
  RunRecords records_;
  RunCheckpoints checkpoints_;
  RunChanges changes_;
  RunFaults faults_;
  RunStop stop_;
};

/// The training loop. Trains until the run is finished and returns the exit code, or until the run continues
/// in another segment and returns nothing.
std::optional<ExitCode> train(Run& run);
/// Trains all segments of a start. `run` holds the last segment. It outlives the errors that end it, so that
/// its destructor completes a checkpoint that is being written.
ExitCode train(RunRequest request, MPI_Comm ranks, std::unique_ptr<Run>& run);

}  // namespace mylos
