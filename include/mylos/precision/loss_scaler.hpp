// The loss scaler: a state machine that keeps half-precision gradients inside the range of half.
//
// The loss is multiplied by `scale` before the backward pass. A step whose gradients overflow is skipped and,
// in dynamic mode, lowers the scale; `growth_interval` good steps in a row raise it. After P. Micikevicius et
// al., "Mixed precision training" (arXiv 1710.03740); hysteresis as in Megatron-LM's dynamic scaler.
//
// The state lives in device memory and advances there, identically on every rank: state and rule are plain
// data, and advance() runs on host and device.
#pragma once

#include <cstdint>

#include "mylos/base/kokkos_names.hpp"
#include "mylos/precision/options.hpp"
#include "mylos/precision/recent_overflows.hpp"

namespace mylos {

/// The effect of a step on the scale.
enum class ScaleEvent : std::int32_t { unchanged, increased, decreased, tolerated };

/// The state of a scaler between steps. A checkpoint contains all of it.
struct ScalerState {
  float scale = 1;                    // factor of the loss of the next step
  std::int64_t good_steps = 0;        // since the last overflow or growth
  std::int64_t hysteresis_left = 1;   // overflows until the scale backs off
  std::int64_t skipped_in_a_row = 0;  // skips that no lower scale prevents
  std::int64_t steps = 0;             // skipped ones included
  std::int64_t overflows = 0;         // steps that were skipped
  std::int64_t increases = 0;         // of the scale
  std::int64_t decreases = 0;         // of the scale
  std::int64_t tolerated = 0;         // overflows that left the scale as it was, although it could fall
  // Statistics. Checkpoints of earlier builds do not contain the members below.
  RecentOverflows recent;          // of the last 1,000 steps
  std::int64_t since_backoff = 0;  // steps since the scale was last lowered
  std::int64_t applied = 0;        // steps that updated weights
  double norm_sum = 0;             // of their gradients, before clipping
  std::int64_t reset_step = 0;     // step of the run at which the state was last reset; 0: never

  /// Records a step that updated weights.
  KOKKOS_INLINE_FUNCTION void note_applied(double gradient_norm) {
    applied += 1;
    norm_sum += gradient_norm;
  }
};

/// The scaler's parameters as kernels read them.
struct ScalerRule {
  bool dynamic = false;                     // false: the scale never changes
  bool refill_on_good_step = false;         // as ScalerOptions::hysteresis_refill
  float growth_factor = 2;                  // these as in ScalerOptions
  float backoff_factor = 0.5f;              // likewise
  float min_scale = 1;                      // likewise
  float max_scale = 16777216;               // likewise
  std::int64_t growth_interval = 2000;      // likewise
  std::int64_t hysteresis = 1;              // likewise
  std::int64_t max_consecutive_skips = 20;  // likewise
  std::int64_t backoff_window = 0;          // steps; 0: by hysteresis
  std::int64_t backoff_overflows = 2;       // overflows within the window that lower the scale

  /// Advances the state by one step. `overflow` is the agreed flag: true if the step was skipped.
  KOKKOS_INLINE_FUNCTION ScaleEvent advance(ScalerState& state, bool overflow) const {
    state.steps += 1;
    state.since_backoff += 1;
    state.recent.note(overflow);
    return overflow ? after_overflow(state) : after_good_step(state);
  }

  /// Returns true once the number of consecutive skips that a smaller scale cannot cure has reached the
  /// limit: the run has diverged.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION bool exhausted(const ScalerState& state) const {
    return state.skipped_in_a_row >= max_consecutive_skips;
  }

 private:
  KOKKOS_INLINE_FUNCTION ScaleEvent after_overflow(ScalerState& state) const {
    state.overflows += 1;
    state.good_steps = 0;
    const bool at_floor = state.scale <= min_scale;
    if (!dynamic || at_floor) state.skipped_in_a_row += 1;
    if (!dynamic) return ScaleEvent::unchanged;
    const bool tolerate = tolerates(state);
    if (at_floor) return ScaleEvent::unchanged;
    if (tolerate) {
      state.tolerated += 1;
      return ScaleEvent::tolerated;
    }
    state.decreases += 1;
    state.since_backoff = 0;
    const float lower = state.scale * backoff_factor;
    state.scale = lower > min_scale ? lower : min_scale;
    return ScaleEvent::decreased;
  }

  /// Returns whether the overflow just recorded leaves the scale unchanged. Overflows before the last backoff
  /// do not count.
  KOKKOS_INLINE_FUNCTION bool tolerates(ScalerState& state) const {
    if (backoff_window > 0) {
      const bool is_shorter = state.since_backoff < backoff_window;
      return state.recent.of_last(is_shorter ? state.since_backoff : backoff_window) < backoff_overflows;
    }
    const bool has_more = state.hysteresis_left > 1;
    if (state.hysteresis_left > 0) state.hysteresis_left -= 1;
    return has_more;
  }

  KOKKOS_INLINE_FUNCTION ScaleEvent after_good_step(ScalerState& state) const {
    state.skipped_in_a_row = 0;
    state.good_steps += 1;
    if (!dynamic) return ScaleEvent::unchanged;
    if (refill_on_good_step) state.hysteresis_left = hysteresis;
    if (state.good_steps < growth_interval) return ScaleEvent::unchanged;
    state.good_steps = 0;
    state.hysteresis_left = hysteresis;
    if (state.scale >= max_scale) return ScaleEvent::unchanged;
    state.increases += 1;
    const float higher = state.scale * growth_factor;
    state.scale = higher < max_scale ? higher : max_scale;
    return ScaleEvent::increased;
  }
};

/// Returns the mode selected by "auto": dynamic if any layer computes in half, off otherwise.
[[nodiscard]] ScalerMode resolve_mode(ScalerMode mode, bool computes_in_half);

/// Return the rule and the initial state for the deck's options; `mode` must not be automatic.
[[nodiscard]] ScalerRule scaler_rule(const ScalerOptions& options, ScalerMode mode);
/// Returns the state before the first step.
[[nodiscard]] ScalerState initial_scaler_state(const ScalerOptions& options, ScalerMode mode);

/// Returns whether some sequence of steps can produce this state. Checks a state read from a file.
[[nodiscard]] bool is_possible(const ScalerState& state);

}  // namespace mylos
