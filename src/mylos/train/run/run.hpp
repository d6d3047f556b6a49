// Run: a training run from its deck: data, trainer, checkpoints, history and progress. One segment of it: a
// run that changes its own deck on the way ends, and another one goes on from a checkpoint (EarlierSegment).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/io/files/folder_lock.hpp"
#include "mylos/train/evaluation/evaluation_log.hpp"
#include "mylos/train/health/fault_replay.hpp"
#include "mylos/train/health/rewind.hpp"
#include "mylos/train/history/earlier_segment.hpp"
#include "mylos/train/history/run_clock.hpp"
#include "mylos/train/plan/assembly.hpp"
#include "mylos/train/run/components/run_checkpoints.hpp"
#include "mylos/train/run/components/run_evaluations.hpp"
#include "mylos/train/run/components/run_health.hpp"
#include "mylos/train/run/components/run_log.hpp"
#include "mylos/train/run/run_position.hpp"
#include "mylos/train/run/run_summary.hpp"
#include "mylos/train/start/run_state.hpp"
#include "mylos/train/start/stop_requests.hpp"
#include "mylos/train/step/staging.hpp"

namespace mylos {

struct RunRequest {
  Deck deck;
  std::string restart;                         // "", "auto", "latest" or a file
  std::int64_t stop_after = 0;                 // steps of this start; 0 = to the end
  std::string plan_file;                       // "" or a file that `mylos plan --json` wrote
  std::int64_t debug_tensors = 0;              // steps of this start before which rank 0 shows every tensor
  Output output;                               // of this rank
  StopSources stop;                            // the deck and the folder add theirs
  std::optional<EarlierSegment> earlier = {};  // of this start, whose end `restart` is
};

struct RunStart;
class InitialWeights;

class Run {
 public:
  /// By what RunStart has found: allocates, restores the checkpoint that the request asks for, and opens the
  /// run's files. Throws Error on all ranks.
  explicit Run(RunStart&& start);
  Run(const Run&) = delete;  // its checkpoints speak to it
  Run& operator=(const Run&) = delete;

  /// True at the end of the run, after `stop_after` steps, after an agreed stop request, and when the run's
  /// patience is over.
  [[nodiscard]] bool finished() const {
    return position_.start_is_over() || stop_.agreed() || evaluation_log_.best().patience_is_over();
  }
  /// The trainer's next step, by the next batch.
  void step();
  /// Reads what the step left, where that costs nothing or a log point is due. Throws if the run cannot go
  /// on.
  void poll_step();
  /// Whether the run is to go on in another segment, from the checkpoint of its next_request(). This one is
  /// to be destroyed first: it has the memory.
  [[nodiscard]] bool segment_is_over() const { return next_.has_value(); }
  [[nodiscard]] RunRequest next_request();
  [[nodiscard]] bool wants_evaluation() const { return evaluations_->due(position_); }
  void evaluate();
  /// Whether layers, or the run, are to change their type.
  [[nodiscard]] bool wants_adaptation() const { return adaptation_ && !segment_is_over(); }
  /// Ends the segment.
  void adapt();
  [[nodiscard]] bool wants_checkpoint() const { return checkpoints_.due(); }
  void write_checkpoint() { write_checkpoint(finished()); }
  /// Last checkpoint, summary and summary.json. ExitCode::requeue if the run is neither at its end nor
  /// stopped early.
  ExitCode finish();
  /// Before an error ends the run: writes the rows of the steps since the last log point, as far as that
  /// works.
  void keep_history();

 private:
  void restore(const RunStart& start);
  void begin_with(InitialWeights& weights, const RunStart& start);
  [[nodiscard]] bool goes_on_from_own(const CheckpointReader& saved);
  void open_folder(const RunStart& start);
  void record_first_choice();
  void go_on_from(EarlierSegment& earlier);
  void open_batches();
  [[nodiscard]] std::string name_best_again() const;
  void prepare_checkpoints(const Output& output);
  /// `last`: of a segment.
  void write_checkpoint(bool last);
  void on_io_error(const Error& error);
  /// Before anything but the next step reads the network, or ranks exchange anything by MPI.
  void finish_update();
  void show_tensors();
  void log(bool with_progress);
  void note_refusals();
  void write_rows();
  /// All ranks. Up to this step.
  void poll_health(std::int64_t last);
  void find_culprit(const StepState& state);
  /// All ranks. Of this step, whose weights are still there. The next batch is the one behind it then.
  [[nodiscard]] std::optional<Fault> replay(std::int64_t step);
  /// All ranks. Rows of an evaluation, and what follows from them.
  void take(std::vector<EvaluationRow> rows);
  /// Before its last step, as run.patience says.
  [[nodiscard]] bool stopped_early() const {
    return evaluation_log_.best().patience_is_over() && !position_.at_end();
  }
  [[nodiscard]] bool keeps_best() const { return !options().checkpoint.keep_best.empty(); }
  [[nodiscard]] std::string describe_early_stop() const;
  /// All ranks. Of a trainer that has halted: throws what failed, or goes back.
  void leave_halted(const StepState& state);
  /// All ranks. Ends the segment; throws Error (diverged) where there is nothing to go back to and the run
  /// cannot go on.
  void go_back(const Divergence& divergence, bool can_go_on);
  /// All ranks. The newest checkpoint of the folder from before this step.
  [[nodiscard]] std::optional<CheckpointFile> checkpoint_before(std::int64_t step);
  void end_segment(const std::string& checkpoint);
  [[nodiscard]] bool polls_overflows() const;
  [[nodiscard]] bool looks_for_float_layers() const;
  void poll_overflows();
  /// Tells it, and takes it into the options.
  void amend(const Amendment& change);
  /// On rank 0: amended.toml, which is there only where the deck was amended. What is to be said.
  [[nodiscard]] std::vector<std::string> write_amended_deck() const;
  [[nodiscard]] double seconds_per_step() const;
  [[nodiscard]] double reserve_s() const;
  [[nodiscard]] RunSummary summarize(const RunMetrics& metrics) const;
  [[nodiscard]] const Options& options() const { return parts_.options; }
  [[nodiscard]] RankGroup& ranks() const { return parts_.communicator->ranks(); }
  [[nodiscard]] std::string file(const char* name) const { return options().run.folder + "/" + name; }

  RunRequest request_;  // its options are the parts'
  Amendments amendments_;
  std::unique_ptr<FolderLock> lock_;  // on rank 0
  std::unique_ptr<RunData> data_;
  Assembly parts_;
  RunPosition position_;
  std::int64_t debug_tensors_;  // steps
  RunClock clock_;
  RunLog log_;
  std::unique_ptr<RunHealth> health_;
  int culprits_ = 0;  // searches of this start
  EvaluationLog evaluation_log_;
  RunState state_;
  CheckpointHeader header_;
  RunCheckpoints checkpoints_;
  StopRequests stop_;
  std::unique_ptr<RunEvaluations> evaluations_;
  std::unique_ptr<StagedBatches> batches_;
  std::optional<Divergence> loss_jump_;  // that the last look found
  std::optional<Amendment> adaptation_;  // of types, behind this step
  std::optional<RunRequest> next_;
};

/// The training loop: trains to the end of the run, until it is told to stop, or until it is to go on in
/// another segment (nothing).
std::optional<ExitCode> train(Run& run);
/// Trains, over all segments of this start. `run` has the last one, which outlives the errors that end it: a
/// checkpoint that is being written is brought to its end with it.
ExitCode train(RunRequest request, MPI_Comm ranks, std::unique_ptr<Run>& run);

}  // namespace mylos
