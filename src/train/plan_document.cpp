#include "mylos/train/plan_document.hpp"

#include <nlohmann/json.hpp>

namespace mylos {

std::string plan_document(const std::string& run, const MemoryPlan& plan) {
  using nlohmann::ordered_json;
  const MemoryStatement& statement = plan.statement;
  ordered_json memory = ordered_json::array();
  for (const MemoryEntry& entry : statement.entries) {
    memory.push_back({{"name", entry.name}, {"bytes", entry.bytes}});
  }
  ordered_json document = {
      {"run", run},
      {"parameters", statement.parameters},
      {"ranks", statement.place.ranks},
      {"ranks_on_node", statement.place.ranks_on_node},
      {"micro_batch", statement.micro_batch},
      {"micro_batches", statement.micro_batches},
      {"budget_bytes", plan.budget},
      {"fixed_bytes", statement.fixed_bytes()},
      {"activation_bytes", plan.arena_bytes()},
      {"checkpoint_copy_bytes", plan.checkpoint_copy},
      {"rank_bytes", plan.rank_bytes()},
      {"node_bytes", plan.rank_bytes() * static_cast<std::size_t>(statement.place.ranks_on_node)},
      {"checkpoint_bytes", statement.checkpoint_bytes},
      {"step_time_ms", plan.step_time()},
      {"overhead", plan.overhead()},
      {"memory", std::move(memory)}};
  document.update(ordered_json::parse(plan_json(statement.cost, plan.plan, plan.engines)));
  // A name of the command line may be no UTF-8.
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace mylos
