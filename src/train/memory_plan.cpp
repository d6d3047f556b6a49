#include "mylos/train/memory_plan.hpp"

#include <algorithm>

#include "memory_refusal.hpp"
#include "mylos/base/units.hpp"
#include "mylos/io/system_memory.hpp"
#include "mylos/planner/least_memory.hpp"
#include "mylos/train/calibration.hpp"
#include "mylos/train/product_choice.hpp"

namespace mylos {
namespace {

// Of what is left: the rest is for other programs and for what the system itself needs to work well.
constexpr double share_of_memory = 0.9;

// Of a checkpoint's copy beside weights and moments: the history's tail, padding, the counters.
constexpr std::size_t copy_of_the_rest = std::size_t{1} << 20;

double step_time_of(const MemoryStatement& statement, double micro_batch_time) {
  return static_cast<double>(statement.micro_batches) * micro_batch_time + statement.cost.update_time;
}

std::size_t room_for_activations(const MemoryProblem& problem, const MemoryStatement& statement) {
  const std::size_t fixed = statement.fixed_bytes();
  const bool fits = fixed + statement.evaluation_bytes <= problem.budget;
  return fits ? problem.budget - fixed : 0;
}

/// Checkpoints are written from a copy where that costs nothing else: it never makes a run recompute.
void add_checkpoint_copy(const MemoryProblem& problem, MemoryPlan& plan) {
  if (!problem.options.checkpoint.background) return;
  plan.checkpoint_copy = static_cast<std::size_t>(plan.statement.checkpoint_bytes) + copy_of_the_rest;
  if (plan.rank_bytes() > plan.budget) plan.checkpoint_copy = 0;
}

MemoryPlan plan_for(const MemoryProblem& problem, const MemoryStatement& statement) {
  MemoryPlan result{.statement = statement, .plan = {}, .budget = problem.budget};
  for (const std::size_t lent : {std::size_t{0}, problem.starts ? start_spread : 0}) {
    result.statement = statement;
    result.statement.lend_to_process(lent);
    const std::size_t room = room_for_activations(problem, result.statement);
    if (room == 0) continue;
    if (std::optional<Plan> plan = make_plan(statement.cost, room, problem.options.memory)) {
      result.plan = *std::move(plan);
      result.engines = engines_in_use(problem);
      add_checkpoint_copy(problem, result);
      return result;
    }
  }
  refuse(problem, statement);
}

}  // namespace

std::size_t MemoryPlan::arena_bytes() const {
  return std::max(plan.placement.bytes, statement.evaluation_bytes);
}

double MemoryPlan::step_time() const {
  return step_time_of(statement, plan.time);
}

double MemoryPlan::overhead() const {
  const double keeping_all = step_time_of(statement, plan.store_all_time);
  return keeping_all > 0 ? step_time() / keeping_all - 1 : 0;
}

std::size_t memory_budget(const MemoryOptions& options, const RunPlace& place, int started) {
  if (options.budget_bytes > 0) return static_cast<std::size_t>(options.budget_bytes);
  double bytes = 0;
  if (const auto free = free_device_memory()) {
    bytes = static_cast<double>(*free);
  } else {
    const double running = static_cast<double>(started) * static_cast<double>(place.process_bytes);
    bytes = (static_cast<double>(available_host_memory()) + running) / place.ranks_on_node;
  }
  return static_cast<std::size_t>(share_of_memory * bytes);
}

MemoryPlan plan_memory(const MemoryProblem& problem) {
  return plan_for(problem, state_memory(problem.options, problem.gemm, problem.place, problem.data));
}

bool wants_measured_times(const MemoryOptions& options, const MemoryPlan& by_model) {
  if (options.times != TimesSource::automatic) return options.times == TimesSource::measure;
  const bool keeps_all = by_model.plan.schedule == store_all(by_model.statement.cost.blocks.size());
  return options.recompute == RecomputeMode::automatic && !keeps_all;
}

MeasuredPlan plan_by_measured_times(const MemoryProblem& problem, MemoryPlan by_model) {
  const std::size_t network = by_model.statement.network_bytes();
  const ChainCost& cost = by_model.statement.cost;
  const std::size_t least = live_peak(cost, least_memory_schedule(cost));
  // The least that any plan takes; where that is too little, what this one takes.
  std::optional<Calibration> measured;
  for (const std::size_t activations : {least, by_model.arena_bytes()}) {
    if (!measured)
      measured = calibrate(problem.options, problem.gemm, by_model.statement, network + activations);
  }
  if (!measured) {
    return {std::move(by_model),
            "measuring the blocks' times does not fit the budget: the plan goes by modelled times"};
  }
  MemoryStatement statement = std::move(by_model.statement);
  statement.cost = measured->cost;
  return {plan_for(problem, statement),
          fmt::format("times of {} kinds of blocks measured in {:.1f} s, within {}", measured->shapes,
                      measured->seconds, format_bytes(static_cast<std::int64_t>(measured->bytes)))};
}

MemoryPlan plan_again(const MemoryProblem& problem, const StoredPlan& stored, const std::string& source) {
  MemoryPlan result{.statement = state_memory(problem.options, problem.gemm, problem.place, problem.data),
                    .plan = {},
                    .budget = problem.budget};
  result.plan = reuse_plan(stored, result.statement.cost, source);
  result.statement.cost = stored.cost;
  result.engines = engines_in_use(problem);
  if (result.rank_bytes() > problem.budget) {
    result.statement.lend_to_process(result.rank_bytes() - problem.budget);
  }
  if (result.rank_bytes() > problem.budget) refuse(problem, result, source);
  add_checkpoint_copy(problem, result);
  return result;
}

std::string describe(const MemoryPlan& plan) {
  const std::size_t blocks = plan.statement.cost.blocks.size();
  std::vector<int> runs(blocks, 0);
  std::size_t lean = 0;
  for (const Operation& operation : plan.plan.schedule) {
    if (operation.kind == OperationKind::forward) ++runs[operation.block];
    if (operation.kind == OperationKind::backward && operation.variant > 0) ++lean;
  }
  const auto again = std::count_if(runs.begin(), runs.end(), [](int times) { return times > 1; });
  if (again == 0 && lean == 0) return "every block keeps all";
  return fmt::format("of {} blocks {} run forward again, {} keep less than all; {:.1f} % more time per step",
                     blocks, again, lean, 100 * plan.overhead());
}

}  // namespace mylos
