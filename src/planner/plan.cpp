#include "mylos/planner/plan.hpp"

#include <algorithm>
#include <utility>

#include "mylos/base/arena.hpp"
#include "mylos/base/error.hpp"
#include "mylos/planner/least_memory.hpp"
#include "mylos/planner/lists.hpp"
#include "mylos/planner/rotor.hpp"

namespace mylos {
namespace {

// Slots that the budget is cut into: more where the chain is short and the table small.
constexpr std::size_t least_slots = 500;
constexpr std::size_t most_slots = 2000;
constexpr std::size_t table_entries = std::size_t{1} << 23;
// Above (256 MiB, chains of some 380 blocks) only lists of equal groups and the smallest list compete.
constexpr std::size_t most_table_entries = std::size_t{1} << 26;

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

/// Keeps the fastest plan that fits.
class Contest {
 public:
  Contest(const ChainCost& cost, std::size_t budget, Plan first)
      : cost_(cost), budget_(budget), best_(std::move(first)) {}

  /// Whether the list fits.
  bool consider(Schedule schedule) {
    if (live_peak(cost_, schedule) > budget_) return false;
    Plan plan = plan_of_list(cost_, std::move(schedule));
    if (plan.placement.bytes > budget_) return false;
    if (plan.time < best_.time) best_ = std::move(plan);
    return true;
  }

  [[nodiscard]] Plan best() && { return std::move(best_); }

 private:
  const ChainCost& cost_;
  std::size_t budget_;
  Plan best_;
};

/// Rotor rounds what each stage keeps up to whole slots, so that its lists need less than it counts: it is
/// asked for lists of more slots than the budget has, the fastest first, and their exact bytes decide.
void consider_rotor(Contest& contest, const ChainCost& cost, std::size_t budget) {
  const std::size_t stages = cost.blocks.size() + 1;
  const std::size_t segments = stages * (stages + 1) / 2;
  const std::size_t slots = std::clamp(table_entries / segments, least_slots, most_slots);
  if (segments * (slots + stages) > most_table_entries) return;
  const std::size_t room = budget - std::min(budget, cost.input_bytes);
  const std::size_t slot_bytes =
      best_slot_bytes(cost, std::max(arena_alignment, aligned_bytes((room + slots - 1) / slots)));
  const Rotor rotor(cost, slot_bytes, (room + slot_bytes - 1) / slot_bytes + stages);
  for (std::size_t m = rotor.slots() + 1; m-- > 0;) {
    if (m > 0 && rotor.time(m) == rotor.time(m - 1)) continue;  // as fast with less
    std::optional<Schedule> schedule = rotor.schedule(m);
    if (!schedule || contest.consider(std::move(*schedule))) return;
  }
}

std::optional<Plan> fastest_plan(const ChainCost& cost, std::size_t budget) {
  const std::size_t blocks = cost.blocks.size();
  Plan plan = plan_of_list(cost, store_all(blocks));
  if (plan.placement.bytes <= budget) return plan;
  plan = smallest_plan(cost);
  if (plan.placement.bytes > budget) return std::nullopt;
  Contest contest(cost, budget, std::move(plan));
  for (std::size_t k = 1; k < blocks; ++k) {
    contest.consider(recompute_every(blocks, static_cast<std::int64_t>(k)));
  }
  consider_rotor(contest, cost, budget);
  return std::move(contest).best();
}

}  // namespace

Plan plan_of_list(const ChainCost& cost, Schedule schedule) {
  check(cost);
  Plan plan;
  plan.placement = place(cost, schedule);
  plan.time = predicted_time(cost, schedule);
  plan.store_all_time = predicted_time(cost, store_all(cost.blocks.size()));
  plan.schedule = std::move(schedule);
  return plan;
}

std::optional<Plan> make_plan(const ChainCost& cost, std::size_t budget, const MemoryOptions& options) {
  check(cost);
  const std::size_t blocks = cost.blocks.size();
  Schedule list;
  switch (options.recompute) {
    case RecomputeMode::automatic:
      return fastest_plan(cost, budget);
    case RecomputeMode::none:
      list = store_all(blocks);
      break;
    case RecomputeMode::all:
      list = recompute_every(blocks, 1);
      break;
    case RecomputeMode::every:
      list = recompute_every(blocks, options.every);
      break;
    case RecomputeMode::groups:
      list = recompute_groups(blocks, options.groups);
      break;
  }
  Plan plan = plan_of_list(cost, std::move(list));
  if (plan.placement.bytes > budget) return std::nullopt;
  return plan;
}

Plan smallest_plan(const ChainCost& cost) {
  check(cost);
  return plan_of_list(cost, least_memory_schedule(cost));
}

std::size_t smallest_budget(const ChainCost& cost) {
  return smallest_plan(cost).placement.bytes;
}

}  // namespace mylos
