// Run: a training run from its deck: data, trainer, checkpoints, history and progress.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/checkpoint/reader.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/io/folder_lock.hpp"
#include "mylos/train/evaluation.hpp"
#include "mylos/train/memory_plan.hpp"
#include "mylos/train/progress.hpp"
#include "mylos/train/run_checkpoints.hpp"
#include "mylos/train/run_data.hpp"
#include "mylos/train/run_state.hpp"
#include "mylos/train/staging.hpp"
#include "mylos/train/stop_requests.hpp"
#include "mylos/train/trainer.hpp"

namespace mylos {

struct RunRequest {
  Deck deck;
  std::string restart;          // "", "auto", "latest" or a file
  std::int64_t stop_after = 0;  // steps of this start; 0 = to the end
  std::string plan_file;        // "" or a file that `mylos plan --json` wrote
  Output output;                // of this rank
  StopSources stop;             // the deck and the folder add theirs
};

class Run {
 public:
  /// Opens the data, checks everything against everything, allocates, and restores the checkpoint that the
  /// request asks for. Throws Error on all ranks; bad input is found before anything is allocated or written.
  Run(RunRequest request, MPI_Comm ranks);

  /// True at the end of the run, after `stop_after` steps, and after an agreed stop request.
  [[nodiscard]] bool finished() const;
  [[nodiscard]] Trainer& trainer() { return *trainer_; }
  [[nodiscard]] BatchSource& batches() { return *batches_; }
  /// By this rank, for the ranks' agreement in the step.
  [[nodiscard]] bool stop_requested() { return stop_.due(reserve_s()); }

  /// Reads what the step left, where that costs nothing or a log point is due. Throws if the run cannot go
  /// on.
  void look_at_step();
  [[nodiscard]] bool wants_evaluation() const;
  void evaluate();
  [[nodiscard]] bool wants_checkpoint() const { return checkpoint_due_; }
  void write_checkpoint();
  /// Last checkpoint and summary. ExitCode::requeue if the run is not at its end.
  ExitCode finish();
  /// Before an error ends the run: writes the rows of the steps since the last log point, as far as that
  /// works.
  void keep_history();

 private:
  void open_data();
  void require_same_data();
  void choose_normalizer(bool restarts);
  void choose_start(std::optional<CheckpointReader>& saved);
  bool take_folder(bool make);
  void open_checkpoint(std::optional<CheckpointReader>& saved);
  void require_no_other_run() const;
  void require_same_run(const CheckpointReader& saved) const;
  void plan_memory(const CheckpointReader* saved);
  [[nodiscard]] std::string chosen_list(const MemoryProblem& problem, const CheckpointReader* saved,
                                        ProductEngines& before) const;
  void build_trainer();
  void open_evaluations();
  void open_folder();
  void note_ending();
  void restore(const CheckpointReader& saved);
  void note_plan();
  void prepare_checkpoints();
  void meet_trouble(const Error& error);
  void log(const StepState& state);
  /// Of the steps up to `last` whose records were not read before; says what became of the loss scale in
  /// them.
  [[nodiscard]] std::vector<HistoryRow> read_rows(std::int64_t last);
  void note_scale(const StepRecord& record);
  [[noreturn]] void explain_halt(const StepState& state);
  [[nodiscard]] double elapsed_s() const;
  [[nodiscard]] double reserve_s() const;
  [[nodiscard]] std::string stop_reason();
  [[nodiscard]] std::string stop_file() const { return options_.run.folder + "/stop"; }
  [[nodiscard]] bool at_end() const { return step_ == total_steps_; }
  [[nodiscard]] std::int64_t position() const { return step_ * options_.data.batch; }

  RunRequest request_;
  Options options_;
  std::optional<FolderLock> lock_;  // on rank 0
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<GemmEngine> gemm_;
  std::unique_ptr<RunData> data_;
  StepPlan plan_;
  std::optional<MemoryPlan> memory_;
  std::int64_t total_steps_ = 0;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<BatchReader> reader_;
  std::unique_ptr<StagedBatches> batches_;
  /// A part of the data that the run is judged by while it goes on.
  struct JudgedPart {
    std::string name;  // "validation", "test"
    std::unique_ptr<EvaluationPass> pass;
    std::optional<Evaluation> last;
  };
  std::vector<JudgedPart> judged_parts_;
  std::unique_ptr<History> history_;
  std::unique_ptr<Progress> progress_;
  RunState state_;
  StopRequests stop_;
  std::unique_ptr<RunCheckpoints> checkpoints_;
  bool checkpoint_due_ = false;

  std::int64_t step_ = 0;         // steps begun
  std::int64_t first_step_ = 0;   // of this start
  std::int64_t logged_step_ = 0;  // up to which the history is written
  std::uint64_t skipped_ = 0;
  double elapsed_before_s_ = 0;  // of earlier starts
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point logged_;
  double training_s_ = 0;    // of this start: steps without evaluation and checkpoints
  double evaluation_s_ = 0;  // of the longest evaluation of this start, all parts together
  std::string noted_trouble_;
  std::int32_t stopping_rank_ = -1;  // that asked first, of those that the ranks agreed on
};

/// The training loop: trains to the end of the run or until it is told to stop.
ExitCode train(Run& run);

}  // namespace mylos
