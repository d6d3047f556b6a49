// RunChanges: the amendments that a run makes to its own deck: after a divergence it returns to a checkpoint
// (run_return.cpp), and with precision.adapt it changes types and the growth of the loss scale
// (run_adaptation.cpp). A return and a change of types end the segment.
#pragma once

#include <cstdint>
#include <optional>

#include "mylos/train/health/rewind.hpp"
#include "mylos/train/run/components/run_checkpoints.hpp"
#include "mylos/train/run/components/run_component.hpp"
#include "mylos/train/run/components/run_records.hpp"

namespace mylos {

class RunChanges final : public RunComponent {
 public:
  /// Both must outlive this object.
  RunChanges(RunRecords& records, RunCheckpoints& checkpoints)
      : records_(records), checkpoints_(checkpoints) {}

  bool wants_step(RunContext& run, const LastStep& step) override;
  /// Adapts the growth of the loss scale, or returns after a jump of the loss.
  void after_step(RunContext& run, LastStep& step) override;
  void save(RunContext& run, CheckpointState& state) override;
  void make_room(RunContext& run, const CheckpointReader& saved, CheckpointState& state) override;

  /// All ranks. Called when the trainer has halted: throws the error of the step, returns to a checkpoint,
  /// or proposes other types.
  void leave_halted(RunContext& run, const StepState& state);

  /// Whether a skipped step may lead to fp32 in the layer that caused it.
  [[nodiscard]] static bool may_use_float_layers(const RunContext& run);
  /// Proposes other types after `step`, if they can help. `persists`: the run would be given up otherwise.
  void propose_types(const RunContext& run, const Divergence& overflow, bool persists, std::uint64_t step);
  /// Whether other types were proposed.
  [[nodiscard]] bool wants_adaptation() const { return proposed_.has_value(); }
  /// All ranks. Changes the options, and the trainer's state for a checkpoint from which a trainer with the
  /// proposed types resumes.
  void adapt(const Quiesced& quiet, RunContext& run);

 private:
  /// All ranks. Ends the segment if there is a checkpoint to return to. Otherwise reports the divergence if
  /// the run `can_continue`, and else throws Error (diverged).
  void go_back(RunContext& run, const Divergence& divergence, bool can_continue);
  /// All ranks. Returns the newest checkpoint of the folder from before `step`.
  [[nodiscard]] std::optional<CheckpointFile> checkpoint_before(const Quiesced& quiet, RunContext& run,
                                                                std::int64_t step);
  void poll_overflows(RunContext& run);

  RunRecords& records_;
  RunCheckpoints& checkpoints_;
  std::optional<Amendment> proposed_;  // of types, after the last step
};

}  // namespace mylos
