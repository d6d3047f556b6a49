#include "mylos/train/plan/plan_document.hpp"

#include <nlohmann/json.hpp>

namespace mylos {
namespace {

using nlohmann::ordered_json;  // members stay in the order in which they are read best

ordered_json json_of(const VariantCost& variant) {
  return {{"name", variant.name},
          {"saved_bytes", variant.saved_bytes},
          {"backward_workspace", variant.backward_workspace},
          {"recompute_time_ms", variant.recompute_time}};
}

ordered_json json_of(const StageCost& block) {
  ordered_json variants = ordered_json::array();
  for (const VariantCost& variant : block.variants) variants.push_back(json_of(variant));
  ordered_json json = {{"output_bytes", block.output_bytes},
                       {"forward_workspace", block.forward_workspace},
                       {"forward_time_ms", block.forward_time},
                       {"backward_time_ms", block.backward_time},
                       {"variants", std::move(variants)}};
  if (block.skip != no_skip) json["skip"] = block.skip;
  return json;
}

ordered_json json_of(const ChainCost& cost) {
  ordered_json blocks = ordered_json::array();
  for (const StageCost& block : cost.blocks) blocks.push_back(json_of(block));
  return {{"input_bytes", cost.input_bytes},
          {"loss_workspace", cost.loss_workspace},
          {"times", cost.measured ? "measured" : "model"},
          {"loss_time_ms", cost.loss_time},
          {"update_time_ms", cost.update_time},
          {"blocks", std::move(blocks)}};
}

ordered_json json_of(const Operation& operation) {
  if (operation.kind == OperationKind::loss) return {{"run", "loss"}};
  if (operation.kind == OperationKind::backward) {
    return {{"run", "backward"}, {"block", operation.block}, {"variant", operation.variant}};
  }
  ordered_json forward = {{"run", "forward"}, {"block", operation.block}};
  switch (operation.keep) {
    case Keep::nothing:
      forward["keep"] = "nothing";
      break;
    case Keep::input:
      forward["keep"] = "input";
      break;
    case Keep::variant:
      forward["keep"] = "variant";
      forward["variant"] = operation.variant;
      break;
  }
  return forward;
}

ordered_json json_of(const PlannedEngine& gemm) {
  const GemmProblem& problem = gemm.problem;
  return {{"form", name_of(form_of(problem))},
          {"m", problem.m},
          {"n", problem.n},
          {"k", problem.k},
          {"type", name_of(problem.a)},
          {"stored", name_of(problem.c)},
          {"engine", gemm.engine}};
}

ordered_json members_of(const MemoryPlan& memory) {
  const Plan& plan = memory.plan;
  ordered_json document = {{"format", "mylos-plan"},
                           {"version", 1},
                           {"micro_batch", memory.statement.micro_batch},
                           {"arena_bytes", plan.placement.bytes},
                           {"live_peak_bytes", plan.live_peak},
                           {"time_ms", plan.time},
                           {"store_all_time_ms", plan.store_all_time},
                           {"cost", json_of(memory.statement.cost)},
                           {"operations", ordered_json::array()}};
  for (const Operation& operation : plan.schedule) document["operations"].push_back(json_of(operation));
  const PlannedEngines& engines = memory.engines;
  if (!engines.gemms.empty() || engines.library_sums) {
    document["instructions"] = engines.instructions;
    document["threads"] = engines.threads;
  }
  for (const PlannedEngine& gemm : engines.gemms) document["products"].push_back(json_of(gemm));
  return document;
}

ordered_json json_of(const StatedRates& stated) {
  constexpr double milliseconds_per_second = 1000;
  ordered_json flops = ordered_json::object();
  for (const DType type : stated.types)
    flops[std::string(name_of(type))] = stated.rates.flops_in(type) * milliseconds_per_second;
  ordered_json document = {{"measured", stated.measured},
                           {"flops_per_s", std::move(flops)},
                           {"bytes_per_s", stated.rates.bytes * milliseconds_per_second}};
  if (!stated.device.empty()) document["device"] = stated.device;
  return document;
}

ordered_json json_of(const SentInCalls& all) {
  return {{"bytes", all.sent.bytes}, {"messages", all.sent.messages}, {"calls", all.calls}};
}

ordered_json json_of(const StepExchanges& exchanges) {
  const SampleTraffic sent = exchanges.sent();
  return {{"space", exchanges.space},
          {"box_points", exchanges.box_points},
          {"halo_points", exchanges.halo_points},
          {"forward_faces", json_of(exchanges.forward_faces)},
          {"backward_faces", json_of(exchanges.backward_faces)},
          {"sums", json_of(exchanges.sums)},
          {"bytes", sent.bytes},
          {"messages", sent.messages},
          {"gradient_bytes", exchanges.gradient_bytes},
          {"gradient_buckets", exchanges.gradient_buckets}};
}

}  // namespace

std::string plan_json(const MemoryPlan& plan) {
  return members_of(plan).dump(2) + '\n';
}

std::string plan_document(const std::string& run, const MemoryPlan& plan,
                          const std::optional<StatedRates>& rates,
                          const std::optional<StepExchanges>& exchanges) {
  const MemoryStatement& statement = plan.statement;
  ordered_json memory = ordered_json::array();
  for (const MemoryEntry& entry : statement.entries) {
    memory.push_back({{"name", entry.name}, {"bytes", entry.bytes}});
  }
  ordered_json document = {
      {"run", run},
      {"parameters", statement.parameters},
      {"ranks", statement.ranks},
      {"ranks_on_node", statement.processes.ranks_on_node},
      {"micro_batch", statement.micro_batch},
      {"micro_batches", statement.micro_batches},
      {"budget_bytes", plan.budget},
      {"fixed_bytes", statement.fixed_bytes()},
      {"activation_bytes", plan.arena_bytes()},
      {"checkpoint_copy_bytes", plan.checkpoint_copy},
      {"rank_bytes", plan.rank_bytes()},
      {"node_bytes", plan.rank_bytes() * static_cast<std::size_t>(statement.processes.ranks_on_node)},
      {"bucket_bytes", statement.bucket_bytes},
      {"buckets", statement.buckets},
      {"saved_by_shards_bytes", statement.saved_by_shards},
      {"saved_by_masters_bytes", statement.saved_by_masters},
      {"checkpoint_bytes", statement.checkpoint_bytes},
      {"step_time_ms", plan.step_time()},
      {"overhead", plan.overhead()},
      {"memory", std::move(memory)}};
  if (exchanges) document["exchanges"] = json_of(*exchanges);
  if (rates) document["rates"] = json_of(*rates);
  if (statement.copies > 1) document["copies"] = statement.copies;
  if (plan.plan.group > 1) document["blocks_planned_as_one"] = plan.plan.group;
  document.update(members_of(plan));
  // A name of the command line may be no UTF-8.
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace mylos
