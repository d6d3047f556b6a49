// RunRecords: what a run records of its steps: rows of history.csv and evaluations.csv, events, health.csv
// and progress lines, and all of these in checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/train/evaluation/evaluation_log.hpp"
#include "mylos/train/health/rewind.hpp"
#include "mylos/train/run/components/run_component.hpp"
#include "mylos/train/run/components/run_health.hpp"

namespace mylos {

class RunRecords final : public RunComponent {
 public:
  /// `evaluations` must outlive this object.
  explicit RunRecords(EvaluationLog& evaluations) : evaluations_(evaluations) {}

  /// Called when the trainer has been made.
  void open(const RunContext& run);
  /// On rank 0, in a run that starts afresh: sets aside files of an earlier one. Returns their new paths; "":
  /// there was none.
  [[nodiscard]] std::vector<std::string> begin_anew(RunContext& run);

  bool wants_step(RunContext& run, const LastStep& step) override;
  /// Writes the rows up to a step that is logged, and the progress line of a regular one.
  void after_step(RunContext& run, LastStep& step) override;
  void save(RunContext& run, CheckpointState& state) override;
  void make_room(RunContext& run, const CheckpointReader& saved, CheckpointState& state) override;
  std::vector<std::string> restore(RunContext& run, const CheckpointState& state,
                                   const std::string& source) override;
  void finish(RunContext& run, const Quiesced& quiet) override;

  /// All ranks. Reads the health of the steps up to `last` and records what was found.
  void poll_health(RunContext& run, std::int64_t last);
  /// Returns, once, a jump of the loss from which the run is to go back.
  [[nodiscard]] std::optional<Divergence> take_loss_jump();
  /// Writes the rows of the steps since the last log point before an error ends the run. Ignores errors of
  /// its own.
  void keep(RunContext& run);
  /// Updates the options on which advice is based.
  void take(const Options& options) { health_->take(options); }

 private:
  void note_refusals(RunContext& run);
  void write(RunContext& run);

  EvaluationLog& evaluations_;
  std::optional<RunHealth> health_;  // set by open()
  std::optional<Divergence> loss_jump_;
};

}  // namespace mylos
