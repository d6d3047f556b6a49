// The loss scaler of a start that resumes from a checkpoint, whose deck may differ from the current one.
#pragma once

#include <string>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/config/options.hpp"
#include "mylos/optim/update/step_state.hpp"

namespace mylos {

/// Throws Error (bad_input) if a state that was read from `source` is not possible for a scaler.
void require_possible_scaler(const ScalerState& state, const std::string& source);

/// Adjusts the scaler in `state`, which was read from `saved`, to `options`:
///
/// - precision.scaler.reset starts a fresh scaler, once: if the checkpoint's deck has the key too, the run
///   has already been reset.
/// - If the mode has changed, or the value of a static scale, the scale is the initial one.
/// - Otherwise the scale stays, clamped to changed values of min_scale and max_scale.
///
/// `fresh`: the initial state of a run. The sizes in `options.model` are set. Returns a line that describes
/// the change; "" if nothing changed.
[[nodiscard]] std::string settle_scaler(const CheckpointReader& saved, const Options& options,
                                        const ScalerState& fresh, StepState& state);

}  // namespace mylos
