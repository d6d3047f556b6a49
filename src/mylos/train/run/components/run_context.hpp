// RunContext: what the components of a run share: the deck with its amendments, the trainer and its batches,
// position, clock and log.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mylos/data/run/run_data.hpp"
#include "mylos/io/files/folder_lock.hpp"
#include "mylos/train/history/run_clock.hpp"
#include "mylos/train/plan/assembly.hpp"
#include "mylos/train/run/components/run_log.hpp"
#include "mylos/train/run/run_position.hpp"
#include "mylos/train/run/run_request.hpp"
#include "mylos/train/step/quiesced.hpp"
#include "mylos/train/step/staging.hpp"

namespace mylos {

struct RunStart;

struct RunContext {
  /// Takes over what `start` found, all but the request: Run takes that when it has been set up.
  explicit RunContext(RunStart& start);
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;

  RunRequest request;  // its deck is the user's, without amendments
  Amendments amendments;
  std::string deck;                  // resolved and amended: TOML
  std::unique_ptr<FolderLock> lock;  // on rank 0
  std::unique_ptr<RunData> data;
  Assembly assembly;  // the options of its network are amended
  RunPosition position;
  RunClock clock;
  RunLog log;
  std::unique_ptr<StagedBatches> batches;
  std::optional<RunRequest> next = {};  // the next segment's; set when this segment is over

  [[nodiscard]] const Options& options() const { return assembly.network.options; }
  [[nodiscard]] Trainer& trainer() const { return *assembly.trainer; }
  [[nodiscard]] bool is_first_rank() const { return assembly.communicator->rank() == 0; }
  /// For exchanges outside the step.
  [[nodiscard]] RankGroup& ranks(const Quiesced& /*quiet*/) const { return assembly.communicator->ranks(); }
  /// Returns the path of a file of the run's folder.
  [[nodiscard]] std::string file(const char* name) const { return options().run.folder + "/" + name; }
  /// Returns the path on the first rank, "" on all others.
  [[nodiscard]] std::string file_of_first_rank(const char* name) const {
    return is_first_rank() ? file(name) : "";
  }

  /// All ranks, between steps. Ends the last step's exchanges and counts its time.
  Quiesced quiesce();
  /// Returns the mean of this start's steps.
  [[nodiscard]] double seconds_per_step() const;
  /// Handles an error of this rank's disk: a warning, or an error that the other ranks receive in the next
  /// step or at the end of the run (checkpoint.on_error).
  void on_io_error(const Error& error);
  /// Ends the segment: the next one resumes from this checkpoint.
  void end_segment(const std::string& checkpoint);
  /// Returns the request of the next segment, which takes over the lock, amendments, events and times.
  [[nodiscard]] RunRequest take_next_request();
};

}  // namespace mylos
