// Adaptation: what a run with precision.adapt changes of its own deck while it goes on: types, where no loss
// scale makes gradients finite, and the growth of the loss scale. Every decision follows from the run's steps
// alone, which all ranks and every restart see alike.
//
// Types. Of a step that no lower loss scale would have saved, the layer that was first not finite computes in
// fp32 from then on, if it computed in half. Where there is none, and such steps go on until the run would be
// given up, the whole run computes in fp32.
//
// Growth. A scale that is where it belongs grows until gradients overflow, once per climb: about one step in
// growth_interval, 2000. So a run whose steps overflow more often than one in 100 climbs too often:
// growth_interval is doubled, and where that was done before, growth_factor goes half-way to 1 too. Both are
// taken back, step by step, once the scale was not lowered for four times the steps in which it climbs back
// what a backoff takes: it has then grown to 8 times (for a backoff to a half) what gradients had room for.
// A scale at its place overflows in every climb, so that the one never calls for the other.
#pragma once

#include <optional>

#include "mylos/precision/loss_scaler.hpp"
#include "mylos/train/health/rewind.hpp"
#include "mylos/train/history/amendments.hpp"
#include "mylos/train/history/history.hpp"

namespace mylos {

/// The names of why something was changed, as events have them; and health_cause::not_finite.
namespace adaptation_cause {
inline constexpr const char* often = "frequent overflows";
inline constexpr const char* rare = "rare overflows";
}  // namespace adaptation_cause

/// More are not made, of all kinds together: below max_amendments with all returns.
inline constexpr std::size_t max_adaptations = 900;

/// How many of the last steps overflowed.
struct RecentSteps {
  std::int64_t steps = 0;
  std::int64_t overflows = 0;

  [[nodiscard]] double share() const {
    return steps > 0 ? static_cast<double>(overflows) / static_cast<double>(steps) : 0.0;
  }
};

/// Of the rows that the history still has, those behind the last amendment, from the first good step on:
/// before it, a scale that began too high is on its way down.
[[nodiscard]] RecentSteps steps_since_change(const History& history, const Amendments& before);

/// How the scale is to grow behind `step`. `deck`: as the user gave it. Nothing where it may stay as it is,
/// or is at its bounds: 32 times the deck's growth_interval, and a growth_factor of 1.0625.
[[nodiscard]] std::optional<Amendment> adapt_growth(const RecentSteps& recent, const ScalerState& scaler,
                                                    const Options& options, const ScalerOptions& deck,
                                                    const Amendments& before, std::uint64_t step);

/// That more than 5 % of the steps overflow although the growth is at its bounds: in fp32 none of them would
/// be lost. Nothing where that is not so.
[[nodiscard]] std::optional<Divergence> overflows_at_bounds(const RecentSteps& recent, const Options& options,
                                                            const ScalerOptions& deck, std::uint64_t step);

/// What the run with these (amended) options computes in fp32 behind `step`. `persists`: the run would be
/// given up otherwise. Nothing where that can save no step.
[[nodiscard]] std::optional<Amendment> adapt_types(const Divergence& overflow, const Options& options,
                                                   const Amendments& before, bool persists,
                                                   std::uint64_t step);

/// Of a run with these options behind a change of types. A scale that fell for numbers that are floats now
/// says nothing of the others: a dynamic one begins anew, with initial_scale, which costs a skip per halving
/// where it is too high and no digits; from the floor it would take growth_interval steps per doubling.
/// Statistics go on.
[[nodiscard]] ScalerState scaler_behind_types(ScalerState state, const Options& options);

}  // namespace mylos
