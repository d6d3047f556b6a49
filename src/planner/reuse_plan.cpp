#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/planner/plan_json.hpp"

namespace mylos {
namespace {

void compare(const std::string& source, const std::string& what, std::size_t stored, std::size_t now) {
  if (stored == now) return;
  fail_input(
      "{} was planned for another model, micro-batch, engine of products or number of threads: {} is {} "
      "there and {} here",
      source, what, stored, now);
}

/// Bytes decide; times differ between machines.
void compare(const std::string& source, const ChainCost& stored, const ChainCost& now) {
  compare(source, "the number of blocks", stored.blocks.size(), now.blocks.size());
  compare(source, "the input's bytes", stored.input_bytes, now.input_bytes);
  compare(source, "the loss's workspace", stored.loss_workspace, now.loss_workspace);
  for (std::size_t i = 0; i < now.blocks.size(); ++i) {
    const StageCost& was = stored.blocks[i];
    const StageCost& is = now.blocks[i];
    const std::string of_block = " of block " + std::to_string(i);
    compare(source, "output_bytes" + of_block, was.output_bytes, is.output_bytes);
    compare(source, "forward_workspace" + of_block, was.forward_workspace, is.forward_workspace);
    compare(source, "the number of variants" + of_block, was.variants.size(), is.variants.size());
    for (std::size_t v = 0; v < is.variants.size(); ++v) {
      const std::string of_variant = " of variant " + is.variants[v].name + of_block;
      compare(source, "saved_bytes" + of_variant, was.variants[v].saved_bytes, is.variants[v].saved_bytes);
      compare(source, "backward_workspace" + of_variant, was.variants[v].backward_workspace,
              is.variants[v].backward_workspace);
    }
  }
}

}  // namespace

Plan reuse_plan(const StoredPlan& stored, const ChainCost& cost, const std::string& source) {
  compare(source, stored.cost, cost);
  Plan plan;
  try {
    plan = plan_of_list(stored.cost, stored.schedule);
  } catch (const Error& error) {
    fail_input("{}: {}", source, error.what());
  }
  // Fewer: the list was placed less tightly when it was written.
  if (plan.placement.bytes > stored.arena_bytes)
    compare(source, "arena_bytes", stored.arena_bytes, plan.placement.bytes);
  return plan;
}

}  // namespace mylos
