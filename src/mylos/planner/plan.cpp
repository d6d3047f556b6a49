#include "mylos/planner/plan.hpp"

#include <limits>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/planner/fastest_schedules.hpp"
#include "mylos/planner/lists.hpp"
#include "mylos/planner/min_memory.hpp"

namespace mylos {
namespace {

void check(const ChainCost& cost) {
  if (cost.blocks.empty()) fail_run(errors::internal, "a chain without blocks cannot be planned");
  for (const StageCost& block : cost.blocks) {
    if (block.variants.empty()) fail_run(errors::internal, "a block without variants cannot be planned");
  }
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

constexpr int max_tries = 50;

Plan plan_of_fewest_bytes(const ChainCost& cost, StageChain chain) {
  Plan best = plan_of_list(cost, min_memory_schedule(chain));
  if (best.placement.bytes == best.live_peak) return best;
  // A schedule that keeps a little more may lie tighter.
  const FastestSchedules fastest(cost, std::move(chain), best.placement.bytes);
  int tries = max_tries;
  for (std::size_t n = 0; n < fastest.count() && tries > 0; ++n) {
    if (fastest.repeats(n)) continue;
    std::optional<Schedule> schedule = fastest.schedule(n);
    if (!schedule) continue;
    if (fastest.is_long()) --tries;
    const Lifetimes lifetimes = trace_lifetimes(cost, *schedule);
    if (lifetimes.live_peak() >= best.placement.bytes) continue;
    Plan plan = placed(cost, *std::move(schedule), lifetimes);
    if (plan.placement.bytes < best.placement.bytes) best = std::move(plan);
    if (!fastest.is_long()) --tries;
  }
  return best;
}

/// One above the last of the schedules of which at most `bytes` are alive, by bisection: as if each took more
/// than those before it.
std::size_t end_of_fitting(const ChainCost& cost, const FastestSchedules& fastest, std::size_t bytes) {
  std::size_t fits = 0;
  std::size_t does_not = fastest.count() + 1;
  while (does_not - fits > 1) {
    const std::size_t middle = fits + (does_not - fits) / 2;
    const std::optional<Schedule> schedule = fastest.schedule(middle - 1);
    const bool middle_fits = !schedule || trace_lifetimes(cost, *schedule).live_peak() <= bytes;
    (middle_fits ? fits : does_not) = middle;
  }
  return fits;
}

/// Considers the schedules of a long chain from the fastest on. Placing one takes time, so that after one
/// that does not fit the next leaves a little room.
void consider_some(Contest& contest, const ChainCost& cost, const FastestSchedules& fastest,
                   std::size_t budget) {
  std::size_t alive = budget;
  for (int tries = 8; tries > 0; --tries) {
    std::size_t end = end_of_fitting(cost, fastest, alive);
    while (end > 1 && fastest.repeats(end - 1)) --end;  // as fast with less
    if (end == 0) return;
    std::optional<Schedule> schedule = fastest.schedule(end - 1);
    if (!schedule || contest.consider(*std::move(schedule))) return;
    alive -= alive / 128;
  }
}

/// Considers the schedules of a short chain one by one, the fastest first; their exact bytes decide.
void consider_all(Contest& contest, const FastestSchedules& fastest) {
  for (std::size_t n = fastest.count(); n-- > 0;) {
    if (fastest.repeats(n)) continue;  // as fast with less
    std::optional<Schedule> schedule = fastest.schedule(n);
    if (!schedule || contest.consider(*std::move(schedule))) return;
  }
}

std::optional<Plan> fastest_plan(const ChainCost& cost, std::size_t budget) {
  const std::size_t blocks = cost.blocks.size();
  Contest contest(cost, budget);
  if (contest.consider(store_all(blocks))) return std::move(contest).best();
  const StageChain chain(cost);
  Schedule min_memory = min_memory_schedule(chain);
  if (trace_lifetimes(cost, min_memory).live_peak() > budget) return std::nullopt;
  const FastestSchedules fastest(cost, chain, budget);
  if (fastest.is_long()) {
    consider_some(contest, cost, fastest, budget);
  } else {
    consider_all(contest, fastest);
  }
  // Longer groups come first: their schedules are faster.
  for (std::size_t k = blocks; --k > 0;) {
    contest.consider(recompute_every(blocks, static_cast<std::int64_t>(k)));
  }
  contest.consider(std::move(min_memory));
  if (!contest.decided()) {
    Plan smallest = plan_of_fewest_bytes(cost, chain);
    if (smallest.placement.bytes > budget) return std::nullopt;
    smallest.group = fastest.group();
    return smallest;
  }
  Plan best = std::move(contest).best();
  best.group = fastest.group();
  return best;
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
  return list ? plan_of_list(cost, *std::move(list)) : plan_of_fewest_bytes(cost, StageChain(cost));
}

}  // namespace mylos
