#include "mylos/planner/plan_json.hpp"

namespace mylos {
namespace {

void write_cost(JsonWriter& json, const ChainCost& cost) {
  json.begin_object("cost");
  json.member("input_bytes", cost.input_bytes);
  json.member("loss_workspace", cost.loss_workspace);
  json.member("times", cost.measured ? "measured" : "model");
  json.member("loss_time_ms", cost.loss_time);
  json.member("update_time_ms", cost.update_time);
  json.begin_array("blocks");
  for (const StageCost& block : cost.blocks) {
    json.begin_object();
    json.member("output_bytes", block.output_bytes);
    json.member("forward_workspace", block.forward_workspace);
    json.member("forward_time_ms", block.forward_time);
    json.member("backward_time_ms", block.backward_time);
    json.begin_array("variants");
    for (const VariantCost& variant : block.variants) {
      json.begin_inline_object();
      json.member("name", variant.name);
      json.member("saved_bytes", variant.saved_bytes);
      json.member("backward_workspace", variant.backward_workspace);
      json.member("recompute_time_ms", variant.recompute_time);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_operation(JsonWriter& json, const Operation& operation) {
  json.begin_inline_object();
  if (operation.kind == OperationKind::loss) {
    json.member("run", "loss");
  } else if (operation.kind == OperationKind::backward) {
    json.member("run", "backward");
    json.member("block", operation.block);
    json.member("variant", operation.variant);
  } else {
    json.member("run", "forward");
    json.member("block", operation.block);
    switch (operation.keep) {
      case Keep::nothing:
        json.member("keep", "nothing");
        break;
      case Keep::input:
        json.member("keep", "input");
        break;
      case Keep::variant:
        json.member("keep", "variant");
        json.member("variant", operation.variant);
        break;
    }
  }
  json.end_object();
}

void write_engines(JsonWriter& json, const ProductEngines& engines) {
  if (engines.products.empty()) return;
  json.member("instructions", engines.instructions);
  json.begin_array("products");
  for (const auto& [problem, engine] : engines.products) {
    json.begin_inline_object();
    json.member("form", name_of(form_of(problem)));
    json.member("m", problem.m);
    json.member("n", problem.n);
    json.member("k", problem.k);
    json.member("type", name_of(problem.a));
    json.member("stored", name_of(problem.c));
    json.member("engine", engine);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void write_plan(JsonWriter& json, const ChainCost& cost, const Plan& plan, const ProductEngines& engines) {
  json.member("format", "mylos-plan");
  json.member("version", 1);
  json.member("arena_bytes", plan.placement.bytes);
  json.member("live_peak_bytes", live_peak(cost, plan.schedule));
  json.member("time_ms", plan.time);
  json.member("store_all_time_ms", plan.store_all_time);
  write_cost(json, cost);
  json.begin_array("operations");
  for (const Operation& operation : plan.schedule) write_operation(json, operation);
  json.end_array();
  write_engines(json, engines);
}

std::string plan_json(const ChainCost& cost, const Plan& plan, const ProductEngines& engines) {
  JsonWriter json;
  json.begin_object();
  write_plan(json, cost, plan, engines);
  json.end_object();
  return json.text();
}

}  // namespace mylos
