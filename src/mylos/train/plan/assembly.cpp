#include "mylos/train/plan/assembly.hpp"

#include "mylos/train/step/trainer.hpp"

namespace mylos {

namespace {

/// Returns the cost of the first `copies` of the chain of a rollout.
ChainCost cost_of_copies(const MemoryStatement& statement, std::int64_t copies) {
  ChainCost cost = statement.cost;
  const std::size_t own = (cost.blocks.size() + 1) / static_cast<std::size_t>(statement.copies);
  cost.blocks.resize(static_cast<std::size_t>(copies) * own - 1);
  return cost;
}

}  // namespace

std::vector<Schedule> schedules_of_growth(const RolloutChain& rollout, const MemoryPlan& memory) {
  std::vector<Schedule> schedules;
  if (!rollout.grows()) return schedules;
  for (std::int64_t copies = 1; copies < memory.statement.copies; ++copies) {
    const ChainCost cost = cost_of_copies(memory.statement, copies);
    const std::optional<Plan> plan = make_plan(cost, memory.arena_bytes(), {});
    schedules.push_back(plan ? plan->schedule : smallest_plan(cost).schedule);
  }
  return schedules;
}

void DestroyTrainer::operator()(Trainer* trainer) const {
  delete trainer;
}

void assemble(Assembly& parts, std::int64_t run_steps) {
  const auto& rollout = parts.network.rollout;
  parts.trainer.reset(
      new Trainer(parts.network, *parts.engines, *parts.communicator, run_steps, parts.memory.plan.schedule,
                  rollout ? schedules_of_growth(*rollout, parts.memory) : std::vector<Schedule>()));
}

}  // namespace mylos
