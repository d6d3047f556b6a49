// Adaptation: the changes that a run with precision.adapt makes to its own deck during training. It changes
// types if no loss scale makes gradients finite, and the growth of the loss scale. Every decision depends
// only on the run's steps, which are the same on all ranks and after every restart.
//
// Types. If a step overflows that no lower loss scale could save, the layer with the first value that is not
// finite computes in fp32 from then on, provided that it computed in half. If there is no such layer, and
// such steps continue until the run would be given up, the whole run computes in fp32.
//
// Growth. A scale at its limit grows until gradients overflow, once per climb: about one step in
// growth_interval (2000). A run in which more than one step in 100 overflows therefore climbs too often. Its
// growth_interval is doubled; if that was done before, growth_factor also moves half-way to 1. Both changes
// are reverted step by step once the scale was not lowered for four climbs, where a climb is the number of
// steps in which the scale regains the loss of one backoff. By then the scale exceeds the limit 8-fold (for
// a backoff factor of 0.5). A scale at its limit overflows in every climb, so that the two rules never
// alternate.
#pragma once

#include <optional>

#include "mylos/precision/loss_scaler.hpp"
#include "mylos/train/health/rewind.hpp"
#include "mylos/train/history/amendments.hpp"
#include "mylos/train/history/history.hpp"

namespace mylos {

/// The causes of adaptations, as in events. health_cause::not_finite is the third.
namespace adaptation_cause {
inline constexpr const char* often = "frequent overflows";
inline constexpr const char* rare = "rare overflows";
}  // namespace adaptation_cause

/// The maximum number of adaptations of all kinds. Together with all rewinds it stays below max_amendments.
inline constexpr std::size_t max_adaptations = 900;

/// The number of overflows among the last steps.
struct RecentSteps {
  std::int64_t steps = 0;
  std::int64_t overflows = 0;

  [[nodiscard]] double share() const {
    return steps > 0 ? static_cast<double>(overflows) / static_cast<double>(steps) : 0.0;
  }
};

/// Counts the rows of the history after the last amendment, from the first good step on. Before that step,
/// an initial scale that is too high is being lowered.
[[nodiscard]] RecentSteps steps_since_change(const History& history, const Amendments& before);

/// Returns the change of the scale's growth after `step`. `deck`: the user's options. Returns nothing if the
/// growth is right, or at its bounds: 32 times the deck's growth_interval, and a growth_factor of 1.0625.
[[nodiscard]] std::optional<Amendment> adapt_growth(const RecentSteps& recent, const ScalerState& scaler,
                                                    const Options& options, const ScalerOptions& deck,
                                                    const Amendments& before, std::uint64_t step);

/// Returns a divergence if more than 5 % of the steps overflow although the growth is at its bounds. In fp32
/// none of these steps would be lost. Returns nothing otherwise.
[[nodiscard]] std::optional<Divergence> overflows_at_bounds(const RecentSteps& recent, const Options& options,
                                                            const ScalerOptions& deck, std::uint64_t step);

/// Returns the layers that the run with these (amended) options computes in fp32 after `step`, as an
/// amendment. `persists`: the run would be given up otherwise. Returns nothing if no change can save a step.
[[nodiscard]] std::optional<Amendment> adapt_types(const Divergence& overflow, const Options& options,
                                                   const Amendments& before, bool persists,
                                                   std::uint64_t step);

/// Returns the scaler's state after a change of types. `options` are those after the change. The scale may
/// have been lowered for values that are now in float, so that it is too low for the others. A dynamic scale
/// therefore restarts from initial_scale: a scale that is too high costs one skipped step per halving and no
/// digits, while growth from the floor takes growth_interval steps per doubling. Statistics continue.
[[nodiscard]] ScalerState scaler_behind_types(ScalerState state, const Options& options);

}  // namespace mylos
