#include "mylos/precision/loss_scaler.hpp"

#include <cmath>

namespace mylos {

ScalerMode resolve_mode(ScalerMode mode, bool computes_in_half) {
  if (mode != ScalerMode::automatic) return mode;
  return computes_in_half ? ScalerMode::dynamic : ScalerMode::off;
}

ScalerRule scaler_rule(const ScalerOptions& options, ScalerMode mode) {
  ScalerRule rule;
  rule.dynamic = mode == ScalerMode::dynamic;
  rule.refill_on_good_step = options.hysteresis_refill == HysteresisRefill::good_step;
  rule.growth_factor = static_cast<float>(options.growth_factor);
  rule.backoff_factor = static_cast<float>(options.backoff_factor);
  rule.min_scale = static_cast<float>(options.min_scale);
  rule.max_scale = static_cast<float>(options.max_scale);
  rule.growth_interval = options.growth_interval;
  rule.hysteresis = options.hysteresis;
  rule.max_consecutive_skips = options.max_consecutive_skips;
  rule.backoff_window = options.backoff_window;
  rule.backoff_overflows = options.backoff_overflows;
  return rule;
}

ScalerState initial_scaler_state(const ScalerOptions& options, ScalerMode mode) {
  ScalerState state;
  state.scale = mode == ScalerMode::off ? 1.0f : static_cast<float>(options.initial_scale);
  state.hysteresis_left = options.hysteresis;
  return state;
}

bool is_possible(const ScalerState& state) {
  constexpr std::int64_t most = std::int64_t{1} << 60;  // leaves room to count on
  for (const std::int64_t count : {state.good_steps, state.hysteresis_left, state.skipped_in_a_row,
                                   state.steps, state.overflows, state.increases, state.decreases,
                                   state.tolerated, state.since_backoff, state.applied, state.reset_step}) {
    if (count < 0 || count > most) return false;
  }
  const RecentOverflows& recent = state.recent;
  return std::isfinite(state.scale) && state.scale > 0 && std::isfinite(state.norm_sum) &&
         state.norm_sum >= 0 && recent.overflows == recent.of_last(recent.steps());
}

}  // namespace mylos
