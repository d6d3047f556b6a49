// RunComponent: the interface of what a run consists of. Run calls its components in a fixed order
// (Run::components()); a component overrides only what it needs.
#pragma once

#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/optim/update/step_state.hpp"
#include "mylos/train/step/quiesced.hpp"

namespace mylos {

struct RunContext;

/// The step that the trainer made last.
struct LastStep {
  StepState state = {};     // after it
  bool is_regular = false;  // run.log_every divides its number
  bool is_last = false;     // of this start, as far as was known before the step was read
  bool is_logged = false;   // rows up to this step are written
};

class RunComponent {
 public:
  RunComponent() = default;
  virtual ~RunComponent() = default;
  RunComponent(const RunComponent&) = delete;
  RunComponent& operator=(const RunComponent&) = delete;

  /// All ranks, once after each step. Returns whether the step must be read and logged, even if a device has
  /// to be waited for. `step` has no state yet.
  virtual bool wants_step(RunContext& /*run*/, const LastStep& /*step*/) { return false; }
  /// All ranks, after a step that was read and has not halted the trainer. May ask for rows (is_logged).
  virtual void after_step(RunContext& /*run*/, LastStep& /*step*/) {}

  /// Adds the component's state to a checkpoint; `state` then points into the component.
  virtual void save(RunContext& /*run*/, CheckpointState& /*state*/) {}
  /// Adds room for the component's state in the checkpoint `saved`.
  virtual void make_room(RunContext& /*run*/, const CheckpointReader& /*saved*/, CheckpointState& /*state*/) {
  }
  /// Resumes from `state`, which was read from the file `source`. The run is at the checkpoint's step.
  /// Returns messages; "": none. Throws Error (bad_input) if no run can have written the state.
  virtual std::vector<std::string> restore(RunContext& /*run*/, const CheckpointState& /*state*/,
                                           const std::string& /*source*/) {
    return {};
  }

  /// All ranks, after the last step of a start and before the last checkpoint.
  virtual void finish(RunContext& /*run*/, const Quiesced& /*quiet*/) {}
};

}  // namespace mylos
