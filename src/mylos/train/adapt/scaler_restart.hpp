// The loss scaler of a start that goes on from a checkpoint, whose deck may be another one than the run was
// written with.
#pragma once

#include <string>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/config/options.hpp"
#include "mylos/optim/update/step_state.hpp"

namespace mylos {

/// Throws Error (bad_input) where a scaler's state that was read from `source` is none.
void require_possible_scaler(const ScalerState& state, const std::string& source);

/// Makes the scaler in `state`, which was read from `saved`, the one that `options` ask for. Theirs are a
/// fresh one by precision.scaler.reset (once: a checkpoint whose own deck asked for it is of a run that had
/// it); the scale that a run begins with where the mode is another one, or a static scale is; else the scale
/// that was reached, within a min_scale and max_scale that were changed. `fresh`: of a run that begins. The
/// sizes in `options.model` are set. Returns a line about it; "": it goes on as it was.
[[nodiscard]] std::string settle_scaler(const CheckpointReader& saved, const Options& options,
                                        const ScalerState& fresh, StepState& state);

}  // namespace mylos
