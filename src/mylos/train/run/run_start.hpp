// RunStart: what a start of a run, or a check of one, finds out before the run takes its memory or writes a
// file: data (run_start.cpp), whether the folder is its own (run_folder.cpp), where to resume from
// (run_restart.cpp), types (run_types.cpp), the memory plan (run_memory.cpp). Run takes it from there
// (run_setup.cpp). Throws Error on all ranks.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/io/files/folder_lock.hpp"
#include "mylos/train/plan/assembly.hpp"
#include "mylos/train/run/run_position.hpp"
#include "mylos/train/run/run_request.hpp"
#include "mylos/train/start/initial_weights.hpp"

namespace mylos {

struct RunStart {
  /// `checks`: it measures and writes nothing, and takes no checkpoint to resume from.
  RunStart(RunRequest given, MPI_Comm ranks, bool checks = false);

  RunRequest request;
  bool only_checks;
  Amendments amendments;  // of the checkpoint, or of the segment before this one
  std::string deck;       // resolved, as amended
  Assembly parts;         // without the trainer; their options are as amended
  std::unique_ptr<RunData> data;
  std::string identity;              // of the data
  std::int64_t steps = 0;            // of the run
  std::unique_ptr<FolderLock> lock;  // on rank 0
  std::optional<CheckpointReader> saved;
  std::optional<InitialWeights> initial;  // of a start from none
  Normalizer normalizer;                  // of a restart: room for the checkpoint's

  void line(const std::string& text) const { request.output.line(text); }
  /// After a restart, whose `parts` and `data` the run has taken: what this deck says otherwise than the
  /// checkpoint's.
  void note_changes(const Options& options, const RunPosition& now, std::int64_t updates) const;

 private:
  [[nodiscard]] RankGroup& ranks() const { return parts.communicator->ranks(); }
  void open_data();
  void choose();
  bool take_folder(bool make);
  void find_start();
  void open_checkpoint();
  void open_initial_weights();
  void amend();
  void choose_first_type();
  [[nodiscard]] Amendment try_types();
  void require_no_other_run() const;
  void require_same_run() const;
  void plan_memory();
  [[nodiscard]] std::string chosen_list(const MemoryProblem& problem, ProductEngines& before);
  [[nodiscard]] std::string earlier_list(const MemoryProblem& problem, const std::string& text,
                                         const std::string& source);
  [[nodiscard]] std::string new_list(const MemoryProblem& problem, const ProductEngines& before);
  void take_micro_batch(std::int64_t samples);
  void adopt(const StoredPlan& plan);

  Options given_;  // the deck's, with what the data add
  std::optional<Amendment> first_choice_;
  std::optional<RunPlace> place_before_trials_;  // whose leftovers are no part of the run
  std::size_t budget_before_trials_ = 0;
};

}  // namespace mylos
