// RunStart: what a start of a run, or a check of one, determines before the run allocates memory or writes
// files: data (run_start.cpp), the lock of the folder (run_folder.cpp), the checkpoint to resume from
// (run_restart.cpp), types (run_types.cpp), the memory plan (run_memory.cpp). Run continues from there
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
  /// With `checks` it measures and writes nothing, and waits for no other run in the folder.
  RunStart(RunRequest given, MPI_Comm ranks, bool checks = false);

  RunRequest request;
  bool only_checks;
  Amendments amendments;  // of the checkpoint or the previous segment
  std::string deck;       // resolved and amended
  Assembly parts;         // without the trainer; the options of its network are amended
  std::unique_ptr<RunData> data;
  std::string identity;              // of the data
  std::int64_t steps = 0;            // of the run
  std::unique_ptr<FolderLock> lock;  // on rank 0
  std::optional<CheckpointReader> saved;
  std::optional<InitialWeights> initial;  // if the run starts afresh
  Normalizer normalizer;                  // at a restart: room for the checkpoint's

  void line(const std::string& text) const { request.output.line(text); }
  /// At a restart, when the run has taken `parts` and `data`: prints how this deck differs from the
  /// checkpoint's.
  void note_changes(const Options& options, const RunPosition& now, std::int64_t updates) const;

 private:
  [[nodiscard]] RankGroup& ranks() const { return parts.communicator->ranks(); }
  [[nodiscard]] const Options& options() const { return parts.network.options; }
  void open_data();
  void choose();
  bool take_folder(bool make);
  void note_other_run() const;
  void find_start();
  void open_checkpoint();
  void open_initial_weights();
  void make_normalizer();
  void amend();
  void choose_space();
  void choose_first_type();
  [[nodiscard]] Amendment try_types();
  void require_no_other_run() const;
  void require_same_run() const;
  void plan_memory();
  [[nodiscard]] MemoryPlan choose_plan(MemoryProblem& problem, PlannedEngines& before) const;
  [[nodiscard]] MemoryPlan plan_of_text(MemoryProblem& problem, const std::string& text,
                                        const std::string& source) const;
  [[nodiscard]] MemoryPlan new_run_plan(MemoryProblem& problem, const PlannedEngines& before) const;

  Options given_;  // the deck's, with the sizes of the data
  std::optional<Amendment> first_choice_;
  // Before the choice of a division and trials, whose memory may not be freed.
  std::optional<RunProcesses> first_processes_;
  std::size_t first_budget_ = 0;
};

}  // namespace mylos
