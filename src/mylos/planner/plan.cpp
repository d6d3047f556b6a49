#include "mylos/planner/plan.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/error.hpp"
#include "mylos/planner/lists.hpp"
#include "mylos/planner/rotor.hpp"

namespace mylos {
namespace {

// Slots that the budget is cut into: more where the chain is short and the table small.
constexpr std::size_t min_slots = 500;
constexpr std::size_t max_slots = 2000;
constexpr std::size_t fewest_slots = 100;  // where memory for the table is short
constexpr std::size_t table_entries = std::size_t{1} << 23;
// Above (256 MiB, chains of some 380 blocks) only lists of equal groups and the smallest list compete.
constexpr std::size_t max_table_entries = std::size_t{1} << 26;

void check(const ChainCost& cost) {
  if (cost.blocks.empty()) fail_run("a chain without blocks cannot be planned");
  for (const StageCost& block : cost.blocks) {
    if (block.variants.empty()) fail_run("a block that offers no variant cannot be planned");
  }
}

/// Of some sizes from `least` bytes on, the slot by which rounding adds least to what the stages may keep: in
/// chains of equal blocks little or nothing.
std::size_t best_slot_bytes(const ChainCost& cost, std::size_t least) {
  const std::size_t step = aligned_bytes(least / 512 + 1);
  std::size_t best = least;
  double best_share = 2;  // bytes after rounding per byte
  for (std::size_t slot = least; slot <= least + least / 4; slot += step) {
    double bytes = 0;
    double rounded = 0;
    const auto add = [&](std::size_t kept) {
      bytes += static_cast<double>(kept);
      rounded += static_cast<double>((kept + slot - 1) / slot * slot);
    };
    for (const StageCost& block : cost.blocks) {
      add(block.output_bytes);
      for (const VariantCost& variant : block.variants) add(block.output_bytes + variant.saved_bytes);
    }
    if (rounded < best_share * bytes) {
      best_share = rounded / bytes;
      best = slot;
    }
  }
  return best;
}

Plan placed(const ChainCost& cost, Schedule schedule, const Lifetimes& lifetimes) {
  Plan plan;
  plan.placement = place(lifetimes);
  plan.live_peak = lifetimes.live_peak();
  plan.time = predicted_time(cost, schedule);
  plan.store_all_time = predicted_time(cost, store_all(cost.blocks.size()));
  plan.schedule = std::move(schedule);
  return plan;
}

/// Keeps the fastest plan that fits.
class Contest {
 public:
  Contest(const ChainCost& cost, std::size_t budget) : cost_(cost), budget_(budget) {
    best_.time = std::numeric_limits<double>::infinity();
  }

  /// False where the list would be the fastest, but does not fit.
  bool consider(Schedule schedule) {
    if (predicted_time(cost_, schedule) >= best_.time) return true;
    const Lifetimes lifetimes = trace_lifetimes(cost_, schedule);
    if (lifetimes.live_peak() > budget_) return false;
    Plan plan = placed(cost_, std::move(schedule), lifetimes);
    if (plan.placement.bytes > budget_) return false;
    best_ = std::move(plan);
    return true;
  }

  [[nodiscard]] bool decided() const { return !best_.schedule.empty(); }
  [[nodiscard]] Plan best() && { return std::move(best_); }

 private:
  const ChainCost& cost_;
  std::size_t budget_;
  Plan best_;
};

/// With a table up to some more than `budget` bytes: Rotor rounds what each stage keeps up to whole slots, so
/// that its lists need less than it counts. Empty where the table would be too large.
std::optional<Rotor> rotor_for(const ChainCost& cost, std::size_t budget) {
  const std::size_t stages = cost.blocks.size() + 1;
  const std::size_t segments = stages * (stages + 1) / 2;
  // The table is gone before the activations come, so it may take their place, or a little where they are
  // few.
  const std::size_t max_entries =
      std::min(max_table_entries, std::max(table_entries / 4, budget / sizeof(float)));
  std::size_t slots = std::clamp(table_entries / segments, min_slots, max_slots);
  slots = std::min(slots, max_entries / segments - std::min(max_entries / segments, stages));
  if (slots < fewest_slots) return std::nullopt;
  const std::size_t room = budget - std::min(budget, cost.input_bytes);
  const std::size_t slot_bytes =
      best_slot_bytes(cost, std::max(arena_alignment, aligned_bytes((room + slots - 1) / slots)));
  return std::optional<Rotor>(std::in_place, cost, slot_bytes, (room + slot_bytes - 1) / slot_bytes + stages);
}

Plan plan_of_fewest_bytes(const ChainCost& cost) {
  Plan best = plan_of_list(cost, min_memory_schedule(cost));
  if (best.placement.bytes == best.live_peak) return best;
  // A list that keeps a little more may lie tighter.
  const std::optional<Rotor> rotor = rotor_for(cost, best.placement.bytes);
  int tries = 50;
  for (std::size_t m = 0; rotor && m <= rotor->slots() && tries > 0; ++m) {
    if (m > 0 && rotor->time(m) == rotor->time(m - 1)) continue;
    std::optional<Schedule> schedule = rotor->schedule(m);
    if (!schedule) continue;
    const Lifetimes lifetimes = trace_lifetimes(cost, *schedule);
    if (lifetimes.live_peak() >= best.placement.bytes) continue;
    Plan plan = placed(cost, *std::move(schedule), lifetimes);
    if (plan.placement.bytes < best.placement.bytes) best = std::move(plan);
    --tries;
  }
  return best;
}

std::optional<Plan> fastest_plan(const ChainCost& cost, std::size_t budget) {
  const std::size_t blocks = cost.blocks.size();
  Contest contest(cost, budget);
  if (contest.consider(store_all(blocks))) return std::move(contest).best();
  Schedule least = min_memory_schedule(cost);
  if (trace_lifetimes(cost, least).live_peak() > budget) return std::nullopt;
  // The fastest first, whose exact bytes decide.
  const std::optional<Rotor> rotor = rotor_for(cost, budget);
  for (std::size_t m = rotor ? rotor->slots() + 1 : 0; m-- > 0;) {
    if (m > 0 && rotor->time(m) == rotor->time(m - 1)) continue;  // as fast with less
    std::optional<Schedule> schedule = rotor->schedule(m);
    if (!schedule || contest.consider(*std::move(schedule))) break;
  }
  // Longer groups come first: their lists are faster.
  for (std::size_t k = blocks; --k > 0;) {
    contest.consider(recompute_every(blocks, static_cast<std::int64_t>(k)));
  }
  contest.consider(std::move(least));
  if (contest.decided()) return std::move(contest).best();
  Plan smallest = plan_of_fewest_bytes(cost);
  if (smallest.placement.bytes > budget) return std::nullopt;
  return smallest;
}

/// The list that the deck gives by a rule; empty where the choice is the planner's.
std::optional<Schedule> list_by_rule(std::size_t blocks, const MemoryOptions& options) {
  switch (options.recompute) {
    case RecomputeMode::automatic:
      break;
    case RecomputeMode::none:
      return store_all(blocks);
    case RecomputeMode::all:
      return recompute_every(blocks, 1);
    case RecomputeMode::every:
      return recompute_every(blocks, options.every);
    case RecomputeMode::groups:
      return recompute_groups(blocks, options.groups);
  }
  return std::nullopt;
}

}  // namespace

Plan plan_of_list(const ChainCost& cost, Schedule schedule) {
  check(cost);
  const Lifetimes lifetimes = trace_lifetimes(cost, schedule);
  return placed(cost, std::move(schedule), lifetimes);
}

std::optional<Plan> make_plan(const ChainCost& cost, std::size_t budget, const MemoryOptions& options) {
  check(cost);
  std::optional<Schedule> list = list_by_rule(cost.blocks.size(), options);
  if (!list) return fastest_plan(cost, budget);
  Plan plan = plan_of_list(cost, *std::move(list));
  if (plan.placement.bytes > budget) return std::nullopt;
  return plan;
}

Plan smallest_plan(const ChainCost& cost, const MemoryOptions& options) {
  check(cost);
  std::optional<Schedule> list = list_by_rule(cost.blocks.size(), options);
  return list ? plan_of_list(cost, *std::move(list)) : plan_of_fewest_bytes(cost);
}

}  // namespace mylos
