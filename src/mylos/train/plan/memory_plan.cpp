#include "mylos/train/plan/memory_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/planner/min_memory.hpp"
#include "mylos/train/plan/calibration.hpp"
#include "mylos/train/plan/engine_choice.hpp"
#include "mylos/train/plan/memory_fit.hpp"

namespace mylos {
namespace {

// Of a checkpoint's copy beside weights and moments: the history's tail, padding, the counters.
constexpr std::size_t copy_of_the_rest = std::size_t{1} << 20;

double step_time_of(const MemoryStatement& statement, double micro_batch_time) {
  return static_cast<double>(statement.micro_batches * statement.passes) * micro_batch_time +
         statement.cost.update_time;
}

std::size_t room_for_activations(const MemoryProblem& problem, const MemoryStatement& statement) {
  const std::size_t fixed = statement.fixed_bytes();
  const bool fits = fixed + statement.evaluation_bytes <= problem.budget;
  return fits ? problem.budget - fixed : 0;
}

/// Checkpoints are written from a copy where that costs nothing else: it never makes a run recompute.
void add_checkpoint_copy(const MemoryProblem& problem, MemoryPlan& plan) {
  if (!problem.options().checkpoint.background) return;
  plan.checkpoint_copy = plan.statement.local_state_bytes + copy_of_the_rest;
  if (plan.rank_bytes() > plan.budget) plan.checkpoint_copy = 0;
}

/// Gives the process what the plan takes beyond the budget, of the reserve for libraries.
void reserve_least(const MemoryProblem& problem, MemoryPlan& plan) {
  if (plan.rank_bytes() > problem.budget)
    plan.statement.reserve_for_process(plan.rank_bytes() - problem.budget);
}

MemoryPlan plan_for(const MemoryProblem& problem, const MemoryStatement& statement) {
  statement.require_enough_samples();
  MemoryPlan result{.statement = statement, .plan = {}, .budget = problem.budget};
  for (const std::size_t reserve : {std::size_t{0}, problem.starts ? start_spread : 0}) {
    result.statement = statement;
    result.statement.reserve_for_process(reserve);
    const std::size_t room = room_for_activations(problem, result.statement);
    if (room == 0) continue;
    if (std::optional<Plan> plan = make_plan(statement.cost, room, problem.options().memory)) {
      result.plan = *std::move(plan);
      result.engines = engines_in_use(problem);
      add_checkpoint_copy(problem, result);
      return result;
    }
  }
  throw refusal(problem, statement);
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

MemoryPlan plan_memory(const MemoryProblem& problem) {
  return plan_for(problem, state_memory(problem));
}

void require_free_memory(const MemoryPlan& plan, std::optional<std::int64_t> free_bytes,
                         int ranks_on_device) {
  if (!free_bytes) return;
  const auto planned = static_cast<std::int64_t>(plan.rank_bytes());
  constexpr auto reserve = static_cast<std::int64_t>(device_library_reserve);
  const std::int64_t share = *free_bytes / ranks_on_device;
  if (planned + reserve <= share) return;
  throw Error(
      ExitCode::does_not_fit, errors::does_not_fit,
      fmt::format(
          "the plan takes {} of device memory per rank and the device's libraries up to {}, and {} are "
          "free on the device{}. End the other processes there, or set memory.budget to at most "
          "\"{} MiB\"",
          format_bytes(planned), format_bytes(reserve), format_bytes(*free_bytes),
          ranks_on_device == 1
              ? ""
              : fmt::format(", which {} ranks share: {} each", ranks_on_device, format_bytes(share)),
          std::max<std::int64_t>(share - reserve, 0) >> 20));
}

void require_host_memory(const MemoryPlan& plan, std::optional<std::int64_t> available) {
  if (!available) return;
  const auto planned = static_cast<std::int64_t>(plan.statement.host_bytes());
  const std::int64_t share = *available / plan.statement.processes.ranks_on_node;
  if (planned <= share) return;
  throw Error(ExitCode::does_not_fit, errors::does_not_fit,
              fmt::format("the plan takes {} of the host's memory per rank, and {} are left for each{}",
                          format_bytes(planned), format_bytes(share),
                          plan.statement.saved_by_blocks > 0
                              ? "; data.shuffle = \"blocks\" holds a part of the training samples at one time"
                              : ""));
}

std::string describe_device_libraries(std::size_t connections) {
  const auto bytes = [](std::size_t count) { return format_bytes(static_cast<std::int64_t>(count)); };
  const std::string held =
      connections > 0 ? fmt::format("NCCL has {} for its connections, and ", bytes(connections)) : "";
  return fmt::format("device memory besides the plan: {}the device's libraries take up to {} in steps", held,
                     bytes(device_library_reserve));
}

bool wants_measured_times(const MemoryOptions& options, const MemoryPlan& by_model) {
  if (options.times != TimesSource::automatic) return options.times == TimesSource::measure;
  const bool keeps_all = by_model.plan.schedule == store_all(by_model.statement.cost.blocks.size());
  return options.recompute == RecomputeMode::automatic && !keeps_all;
}

MeasuredPlan plan_by_measured_times(const MemoryProblem& problem, MemoryPlan by_model) {
  const std::size_t network = by_model.statement.network_bytes();
  const ChainCost& cost = by_model.statement.cost;
  const std::size_t least = trace_lifetimes(cost, min_memory_schedule(cost)).live_peak();
  // The least that any plan takes; where that is too little, what this one takes; and of a network with few
  // equal blocks, all of which lie side by side while they are timed, what the budget leaves.
  const std::size_t left = problem.budget - std::min(problem.budget, by_model.statement.fixed_bytes());
  std::optional<Calibration> measured;
  for (const std::size_t activations : {least, by_model.arena_bytes(), left}) {
    if (!measured)
      measured = calibrate(problem.network, problem.engines, by_model.statement, network + activations);
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
  MemoryPlan result{.statement = state_memory(problem), .plan = {}, .budget = problem.budget};
  result.statement.require_enough_samples();
  result.plan = reuse_plan(stored, result.statement.cost, source);
  result.statement.cost = stored.cost;
  result.engines = engines_in_use(problem);
  reserve_least(problem, result);
  if (result.rank_bytes() > problem.budget) {
    throw refusal_of_plan(problem, result.statement, source, result.rank_bytes(), result.arena_bytes());
  }
  add_checkpoint_copy(problem, result);
  return result;
}

MemoryPlan as_shared(const MemoryProblem& problem, MemoryPlan plan) {
  plan.statement.return_reserve();
  plan.checkpoint_copy = 0;
  reserve_least(problem, plan);
  add_checkpoint_copy(problem, plan);
  plan.plan.group = 1;
  return plan;
}

std::string describe(const MemoryPlan& plan) {
  const std::size_t blocks = plan.statement.cost.blocks.size();
  const std::string copies =
      plan.statement.copies > 1 ? fmt::format("{} copies of the network; ", plan.statement.copies) : "";
  std::vector<int> runs(blocks, 0);
  std::size_t lean = 0;
  for (const Operation& operation : plan.plan.schedule) {
    if (operation.kind == OperationKind::forward) ++runs[operation.block];
    if (operation.kind == OperationKind::backward && operation.variant > 0) ++lean;
  }
  const auto again = std::count_if(runs.begin(), runs.end(), [](int times) { return times > 1; });
  if (again == 0 && lean == 0) return copies + "every block keeps all";
  return fmt::format(
      "{}of {} blocks {} run forward again, {} keep less than all; {:.1f} % more time per step", copies,
      blocks, again, lean, 100 * plan.overhead());
}

std::string note_on_search(const MemoryPlan& plan) {
  if (plan.plan.group == 1) return "";
  return fmt::format(
      "the plan is approximate: {} blocks, few of them equal, are too many for an exact search, so that up "
      "to "
      "{} neighbouring blocks were planned as one",
      plan.statement.cost.blocks.size(), plan.plan.group);
}

}  // namespace mylos
