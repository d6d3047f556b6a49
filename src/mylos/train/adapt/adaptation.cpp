#include "mylos/train/adapt/adaptation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mylos/train/health/float_layers.hpp"
#include "mylos/train/health/health_watch.hpp"

namespace mylos {
namespace {

constexpr std::int64_t min_steps_to_adapt = 100;
constexpr double frequent = 0.01;  // fraction of steps
constexpr double unbearable = 0.05;
constexpr std::int64_t longest_interval = 32;  // times the deck's
constexpr double min_factor = 1.0625;
constexpr std::int64_t calm_climbs = 4;

/// Returns the next larger interval within the bounds; the same one at the bounds.
std::int64_t slower(std::int64_t interval, std::int64_t deck) {
  const std::int64_t max_interval =
      std::min<std::int64_t>(std::numeric_limits<std::int32_t>::max(),  // of a deck
                             longest_interval * deck);
  return 2 * interval <= max_interval ? 2 * interval : interval;
}

double slower(double factor) {
  return std::min(factor, std::max((1 + factor) / 2, min_factor));
}

/// Returns the number of steps in which the scale regains the loss of one backoff.
double climb_of(const ScalerOptions& scaler) {
  const double growths = std::ceil(std::log(1 / scaler.backoff_factor) / std::log(scaler.growth_factor));
  return static_cast<double>(scaler.growth_interval) * growths;
}

Amendment growth_of(std::int64_t interval, double factor, const ScalerOptions& now) {
  Amendment amendment;
  if (interval != now.growth_interval) amendment.growth_interval = interval;
  if (factor != now.growth_factor) amendment.growth_factor = factor;
  return amendment;
}

Amendment slower_growth(const ScalerOptions& now, const ScalerOptions& deck) {
  const bool again = now.growth_interval > deck.growth_interval;
  return growth_of(slower(now.growth_interval, deck.growth_interval),
                   again ? slower(now.growth_factor) : now.growth_factor, now);
}

Amendment faster_growth(const ScalerOptions& now, const ScalerOptions& deck) {
  const std::int64_t interval = std::max(now.growth_interval / 2, deck.growth_interval);
  const bool is_last = interval == deck.growth_interval;
  const double factor = is_last ? deck.growth_factor : 1 + 2 * (now.growth_factor - 1);
  return growth_of(interval, std::min(factor, deck.growth_factor), now);
}

bool changes_growth(const Amendment& amendment) {
  return amendment.growth_interval || amendment.growth_factor;
}

bool is_slowed(const ScalerOptions& now, const ScalerOptions& deck) {
  return now.growth_interval > deck.growth_interval || now.growth_factor < deck.growth_factor;
}

/// Returns whether the scaler saw no overflow for several climbs, as far as its records of the last 1,000
/// steps and of the steps since the last backoff show.
bool is_calm(const ScalerState& scaler, const ScalerOptions& now) {
  const double wanted = static_cast<double>(calm_climbs) * climb_of(now);
  return static_cast<double>(scaler.since_backoff) >= wanted &&
         scaler.recent.of_last(static_cast<std::int64_t>(wanted)) == 0;
}

std::string describe(const RecentSteps& recent) {
  return fmt::format("{} of the last {} steps ({:.1f} %) were skipped because gradients overflowed",
                     recent.overflows, recent.steps, 100 * recent.share());
}

bool overflows_above(const RecentSteps& recent, double limit) {
  return recent.steps >= min_steps_to_adapt && recent.share() > limit;
}

}  // namespace

RecentSteps steps_since_change(const History& history, const Amendments& before) {
  const std::uint64_t changed = before.empty() ? 0 : before.back().from;
  RecentSteps recent;
  for (const HistoryRow& row : history.tail()) {
    const bool overflowed = row.record.overflow != 0;
    if (row.record.step <= changed || (recent.steps == 0 && overflowed)) continue;
    recent.steps += 1;
    if (overflowed) recent.overflows += 1;
  }
  return recent;
}

std::optional<Amendment> adapt_growth(const RecentSteps& recent, const ScalerState& scaler,
                                      const Options& options, const ScalerOptions& deck,
                                      const Amendments& before, std::uint64_t step) {
  const ScalerOptions& now = options.precision.scaler;
  if (before.size() >= max_adaptations) return std::nullopt;
  Amendment change;
  std::string seen;
  if (overflows_above(recent, frequent)) {
    change = slower_growth(now, deck);
    change.decision.cause = adaptation_cause::often;
    seen = describe(recent);
  } else if (is_slowed(now, deck) && is_calm(scaler, now)) {
    change = faster_growth(now, deck);
    change.decision.cause = adaptation_cause::rare;
    seen = fmt::format("the loss scale was not lowered for {} steps", scaler.since_backoff);
  }
  if (!changes_growth(change)) return std::nullopt;
  change.from = step;
  change.decision.step = step;
  change.decision.kind = "adaptation";
  change.decision.text = fmt::format("{}; from here on {}", seen, describe_changes(change, options));
  return change;
}

std::optional<Divergence> overflows_at_bounds(const RecentSteps& recent, const Options& options,
                                              const ScalerOptions& deck, std::uint64_t step) {
  const bool can_slow_down = changes_growth(slower_growth(options.precision.scaler, deck));
  if (can_slow_down || !overflows_above(recent, unbearable)) return std::nullopt;
  return Divergence{.first = step,
                    .cause = adaptation_cause::often,
                    .text = describe(recent) + ", although the loss scale grows as slowly as it may"};
}

std::optional<Amendment> adapt_types(const Divergence& overflow, const Options& options,
                                     const Amendments& before, bool persists, std::uint64_t step) {
  if (before.size() >= max_adaptations || is_of_the_data(overflow, options)) return std::nullopt;
  const std::string layer = overflow.fault ? overflow.fault->layer : "";
  Amendment change{.decision = {step, "adaptation", overflow.cause, layer, ""}, .from = step};
  if (can_become_float(options, layer)) {
    change.float_layer = layer;
  } else if (persists && options.precision.compute == DType::fp16 && computes_in_half(options)) {
    change.compute = DType::fp32;
  } else if (persists) {
    change.float_layer = first_that_can_become_float(options);
  }
  const std::string changes = describe_changes(change, options);
  if (changes.empty()) return std::nullopt;
  const Options changed = amended(options, {change});
  const bool begins_anew = scaler_mode_of(changed) == ScalerMode::dynamic;
  change.decision.text = fmt::format("{}; from here on {}{}", overflow.text, changes,
                                     begins_anew ? fmt::format(", and the loss scale begins anew with {:g}",
                                                               changed.precision.scaler.initial_scale)
                                                 : "");
  return change;
}

ScalerState scaler_behind_types(ScalerState state, const Options& options) {
  const ScalerMode mode = scaler_mode_of(options);
  const ScalerState fresh = initial_scaler_state(options.precision.scaler, mode);
  if (mode != ScalerMode::fixed) state.scale = fresh.scale;  // a fixed scale keeps what a rewind has lowered
  state.good_steps = fresh.good_steps;
  state.hysteresis_left = fresh.hysteresis_left;
  state.skipped_in_a_row = fresh.skipped_in_a_row;
  state.since_backoff = fresh.since_backoff;
  return state;
}

}  // namespace mylos
