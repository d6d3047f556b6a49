#include "mylos/train/memory_plan.hpp"

#include <algorithm>

#include "memory_refusal.hpp"
#include "mylos/io/system_memory.hpp"

namespace mylos {
namespace {

// Of what is left: the rest is for other programs and for what the system itself needs to work well.
constexpr double share_of_memory = 0.9;

double step_time_of(const MemoryStatement& statement, double micro_batch_time) {
  return static_cast<double>(statement.micro_batches) * micro_batch_time + statement.update_time;
}

std::size_t room_for_activations(const MemoryProblem& problem, const MemoryStatement& statement) {
  const std::size_t fixed = statement.fixed_bytes();
  const bool fits = fixed + statement.evaluation_bytes <= problem.budget;
  return fits ? problem.budget - fixed : 0;
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
  MemoryPlan result{
      state_memory(problem.options, problem.gemm, problem.place, problem.data), {}, problem.budget};
  MemoryStatement& statement = result.statement;
  if (room_for_activations(problem, statement) == 0) refuse(problem, statement);
  std::optional<Plan> plan =
      make_plan(statement.cost, room_for_activations(problem, statement), problem.options.memory);
  if (!plan) refuse(problem, statement);
  result.plan = *std::move(plan);
  return result;
}

MemoryPlan plan_again(const MemoryProblem& problem, const StoredPlan& stored, const std::string& source) {
  MemoryPlan result{
      state_memory(problem.options, problem.gemm, problem.place, problem.data), {}, problem.budget};
  result.plan = reuse_plan(stored, result.statement.cost, source);
  result.statement.cost = stored.cost;
  if (result.rank_bytes() > problem.budget) refuse(problem, result, source);
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
