#include "mylos/train/plan/tables/plan_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/errors/units.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_bars = 40;
constexpr std::size_t picture_width = 50;

std::string bytes(std::size_t count) {
  return format_bytes(static_cast<std::int64_t>(count));
}

/// The use of a block by a plan.
struct BlockUse {
  int forwards = 0;
  std::size_t variant = 0;
};

std::vector<BlockUse> uses_of(const MemoryPlan& plan) {
  std::vector<BlockUse> uses(plan.statement.cost.blocks.size());
  for (const Operation& operation : plan.plan.schedule) {
    if (operation.kind == OperationKind::forward) ++uses[operation.block].forwards;
    if (operation.kind == OperationKind::backward) uses[operation.block].variant = operation.variant;
  }
  return uses;
}

std::string kept_by(const StageCost& block, const BlockUse& use) {
  const std::string kept = block.variants.size() == 1 ? "all" : block.variants[use.variant].name;
  return use.forwards == 1 ? kept : fmt::format("{}, run {} times", kept, use.forwards);
}

std::string block_rows(const std::vector<std::string>& stages, const MemoryPlan& plan) {
  const ChainCost& cost = plan.statement.cost;
  const std::vector<BlockUse> uses = uses_of(plan);
  std::size_t width = 16;
  for (const std::string& stage : stages) width = std::max(width, stage.size() + 1);
  std::string text = fmt::format("  {:>5}  {:<{}}{:<20}{:>12}{:>12}{:>13}{:>13}\n", "block", "layer", width,
                                 "keeps", "kept", "output", "forward ms", "backward ms");
  for (std::size_t i = 0; i < cost.blocks.size(); ++i) {
    const StageCost& block = cost.blocks[i];
    const VariantCost& variant = block.variants[uses[i].variant];
    text += fmt::format("  {:>5}  {:<{}}{:<20}{:>12}{:>12}{:>13.3f}{:>13.3f}\n", i, stages[i], width,
                        kept_by(block, uses[i]), bytes(variant.saved_bytes), bytes(block.output_bytes),
                        uses[i].forwards * block.forward_time, block.backward_time + variant.recompute_time);
  }
  text += fmt::format("  {:>5}  {:<{}}{:<20}{:>12}{:>12}{:>13}{:>13.3f}\n", "", stages.back(), width, "", "",
                      "", "", cost.loss_time);
  return text;
}

std::string totals(const MemoryPlan& plan) {
  const MemoryStatement& statement = plan.statement;
  std::string text;
  const auto row = [&text](const std::string& name, const std::string& value) {
    text += fmt::format("  {:<28}{:>14}\n", name, value);
  };
  for (const MemoryEntry& entry : statement.entries) {
    if (entry.bytes > 0) row(entry.name, bytes(entry.bytes));
  }
  row("activations", bytes(plan.arena_bytes()));
  if (plan.checkpoint_copy > 0) row("copy for checkpoints", bytes(plan.checkpoint_copy));
  row("peak of a rank", bytes(plan.rank_bytes()));
  row("budget of a rank", bytes(plan.budget));
  if (!memory_is_host) row("device libraries, besides", bytes(device_library_reserve));
  const auto on_node = static_cast<std::size_t>(statement.processes.ranks_on_node);
  row(fmt::format("peak of a node ({} rank{})", on_node, on_node == 1 ? "" : "s"),
      bytes(on_node * plan.rank_bytes()));
  if (const std::size_t saved = statement.saved_by_shards; saved > 0)
    text += fmt::format("  optimizer.shard = \"{}\": {} less per rank than \"none\", {} less per node\n",
                        name_of(statement.shard), bytes(saved), bytes(on_node * saved));
  if (const std::size_t saved = statement.saved_by_masters; saved > 0)
    text += fmt::format("  precision.masters = \"none\": {} less per rank than \"fp32\"\n", bytes(saved));
  if (const std::string buckets = describe_buckets(statement); !buckets.empty())
    text += fmt::format("  {}\n", buckets);
  row("checkpoint", bytes(static_cast<std::size_t>(statement.checkpoint_bytes)));
  row(statement.cost.measured ? "step, from measured times" : "step, from modelled times",
      plan.step_time() < 1        ? fmt::format("{:.2g} ms", plan.step_time())
      : plan.step_time() < 10'000 ? fmt::format("{:.1f} ms", plan.step_time())
                                  : fmt::format("{:.1f} s", plan.step_time() / 1000));
  row("of it recomputation", fmt::format("{:.1f} %", 100 * plan.overhead()));
  return text;
}

std::string operation_name(const Operation& operation, const std::vector<std::string>& stages) {
  const char* kind = operation.kind == OperationKind::forward    ? "forward "
                     : operation.kind == OperationKind::backward ? "backward "
                                                                 : "loss ";
  return kind + stages[operation.block];
}

}  // namespace

std::string plan_table(const std::vector<std::string>& stages, const MemoryPlan& plan) {
  return block_rows(stages, plan) + '\n' + totals(plan);
}

std::string plan_picture(const std::vector<std::string>& stages, const MemoryPlan& plan) {
  const Schedule& schedule = plan.plan.schedule;
  const std::vector<std::size_t> live = trace_lifetimes(plan.statement.cost, schedule).live_bytes();
  const std::size_t peak = std::max<std::size_t>(1, *std::max_element(live.begin(), live.end()));
  const std::size_t together = (schedule.size() + max_bars - 1) / max_bars;
  std::string text;
  for (std::size_t first = 0; first < schedule.size(); first += together) {
    const std::size_t end = std::min(first + together, schedule.size());
    const auto from = live.begin() + static_cast<std::ptrdiff_t>(first);
    const auto most = std::max_element(from, live.begin() + static_cast<std::ptrdiff_t>(end));
    const auto operation = static_cast<std::size_t>(most - live.begin());
    const std::size_t width = (*most * picture_width + peak - 1) / peak;
    text += fmt::format("  {:<26}{:>11} {}\n", operation_name(schedule[operation], stages), bytes(*most),
                        std::string(width, '#'));
  }
  return text;
}

}  // namespace mylos
