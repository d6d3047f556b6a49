#include "mylos/train/adapt/scaler_restart.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/train/health/float_layers.hpp"

namespace mylos {
namespace {

const char* name_of(ScalerMode mode) {
  switch (mode) {
    case ScalerMode::dynamic:
      return "dynamic";
    case ScalerMode::fixed:
      return "static";
    default:
      return "off";
  }
}

/// Copies the scale and the counters of its next change. Statistics continue.
void begin_with_scale_of(const ScalerState& fresh, ScalerState& scaler) {
  scaler.scale = fresh.scale;
  scaler.good_steps = fresh.good_steps;
  scaler.hysteresis_left = fresh.hysteresis_left;
}

}  // namespace

void require_possible_scaler(const ScalerState& state, const std::string& source) {
  if (is_possible(state)) return;
  fail_input(errors::damaged,
             "{}: /scaler is not a possible state of a loss scaler: scale {:g}, {} steps, {} overflows, {} "
             "of them among the last {}; precision.scaler.reset cannot help, as the file was changed; "
             "restart from another",
             source, state.scale, state.steps, state.overflows, state.recent.overflows, state.recent.steps());
}

std::string settle_scaler(const CheckpointReader& saved, const Options& options, const ScalerState& fresh,
                          StepState& state) {
  const PrecisionOptions before = stored_options(saved).precision;
  const ScalerOptions& now = options.precision.scaler;
  ScalerState& scaler = state.scaler;
  const float scale = scaler.scale;
  if (now.reset && !before.scaler.reset) {
    scaler = fresh;
    scaler.reset_step = static_cast<std::int64_t>(state.step);
    return fmt::format(
        "precision.scaler.reset: the loss scale begins afresh at step {} with {:g} (was {:g}), and so do its "
        "statistics",
        state.step, fresh.scale, scale);
  }
  Options written = options;  // with the sizes, which a stored deck may take from the data
  written.precision = before;
  const ScalerMode mode = scaler_mode_of(options);
  if (const ScalerMode was = scaler_mode_of(written); mode != was) {
    begin_with_scale_of(fresh, scaler);
    return fmt::format("the loss scaler is {} from here on (was {}): the scale is {:g} (was {:g})",
                       name_of(mode), name_of(was), scaler.scale, scale);
  }
  if (mode == ScalerMode::fixed && now.initial_scale != before.scaler.initial_scale)
    begin_with_scale_of(fresh, scaler);
  if (mode == ScalerMode::dynamic &&
      (now.min_scale != before.scaler.min_scale || now.max_scale != before.scaler.max_scale)) {
    scaler.scale = std::clamp(scale, static_cast<float>(now.min_scale), static_cast<float>(now.max_scale));
  }
  if (scaler.scale == scale) return "";
  return fmt::format("the loss scale is {:g} from here on (was {:g})", scaler.scale, scale);
}

}  // namespace mylos
