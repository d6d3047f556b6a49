// A memory plan that all ranks share: rank 0 chooses the execution schedule.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/train/plan/memory_plan.hpp"

namespace mylos {

/// Returns the share of this rank in a sweep's nodes, whose runs have `ranks` ranks together. All of them
/// call it, before they take memory.
[[nodiscard]] NodeShare share_of_node(RankGroup& ranks);

/// Returns the problem of all ranks: the largest box of samples, the largest process and the smallest budget.
/// On a device, GEMM libraries first take the memory that they allocate at first use. All ranks must call it.
/// `share`: where other runs use the same nodes. `engines` and `data` must outlive the result; `data` may be
/// null.
[[nodiscard]] MemoryProblem shared_problem(const NetworkPlan& network, const Engines& engines,
                                           RankGroup& ranks, const RunData* data,
                                           const std::optional<NodeShare>& share = {});

/// Returns the division of samples that rank 0 chooses for mesh.space = "auto". All ranks call it. `problem`:
/// of the network on one rank. Throws as choose_space().
[[nodiscard]] std::vector<std::int64_t> share_space(const MemoryProblem& problem, RankGroup& ranks);

/// Returns the plan that the deck requests, with measured engines and times if they are requested. Called on
/// one rank. `line` receives messages about measurements. `known`: engines that were measured
/// earlier. Throws as plan_memory().
[[nodiscard]] MemoryPlan new_plan(const MemoryProblem& problem, const PlannedEngines& known,
                                  const std::function<void(const std::string&)>& line);

/// How ranks agree on a plan. Both functions may set problem.network to that of a smaller micro-batch.
struct PlanChoice {
  /// Called on rank 0. Returns its plan for `problem`.
  std::function<MemoryPlan(MemoryProblem& problem)> choose;
  /// Called on every rank with the micro-batch of that plan, on other ranks before they compare its bytes.
  /// May be empty.
  std::function<void(MemoryProblem& problem, std::int64_t micro_batch)> adopt = {};
};

/// Returns the plan that rank 0 chooses. All ranks must call it. Rank 0 keeps its plan as it is; the others
/// receive it as text. `source` names the plan in messages. Throws on all ranks if `choose` throws, and as
/// plan_again().
[[nodiscard]] MemoryPlan share_plan(MemoryProblem& problem, RankGroup& ranks, const std::string& source,
                                    const PlanChoice& choice);

}  // namespace mylos
