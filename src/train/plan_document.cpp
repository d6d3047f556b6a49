#include "mylos/train/plan_document.hpp"

namespace mylos {

std::string plan_document(const std::string& run, const MemoryPlan& plan) {
  const MemoryStatement& statement = plan.statement;
  JsonWriter json;
  json.begin_object();
  json.member("run", run);
  json.member("parameters", statement.parameters);
  json.member("ranks", statement.place.ranks);
  json.member("ranks_on_node", statement.place.ranks_on_node);
  json.member("micro_batch", statement.micro_batch);
  json.member("micro_batches", statement.micro_batches);
  json.member("budget_bytes", plan.budget);
  json.member("fixed_bytes", statement.fixed_bytes());
  json.member("activation_bytes", plan.arena_bytes());
  json.member("checkpoint_copy_bytes", plan.checkpoint_copy);
  json.member("rank_bytes", plan.rank_bytes());
  json.member("node_bytes", plan.rank_bytes() * static_cast<std::size_t>(statement.place.ranks_on_node));
  json.member("checkpoint_bytes", statement.checkpoint_bytes);
  json.member("step_time_ms", plan.step_time());
  json.member("overhead", plan.overhead());
  json.begin_array("memory");
  for (const MemoryEntry& entry : statement.entries) {
    json.begin_inline_object();
    json.member("name", entry.name);
    json.member("bytes", entry.bytes);
    json.end_object();
  }
  json.end_array();
  write_plan(json, statement.cost, plan.plan, plan.engines);
  json.end_object();
  return json.text();
}

}  // namespace mylos
