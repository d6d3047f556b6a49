// StoredPlan: a plan read from JSON text: plan.json, `mylos plan --json`, the copy in a checkpoint, or the
// plan that rank 0 sends to all ranks.
//
// {"format": "mylos-plan", "version": 1, "micro_batch": …, "arena_bytes": …, "live_peak_bytes": …, "time_ms":
// …,
//  "store_all_time_ms": …, "cost": {"times": "measured", …: what the chain's blocks cost}, "operations":
//  [{"run": "forward", "block": 0, "keep": "variant", "variant": 1}, …, {"run": "loss"}, …,
//  {"run": "backward", "block": 0, …}], "instructions": "avx512-bf16", "threads": 8, "GEMMs": [{"form":
//  "dW", "m": …, "n": …, "k": …, "type": "bf16", "stored": "fp32", "engine": "tiles"}, …]}
//
// Other members are ignored, so that tools can add theirs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/planner/plan.hpp"

namespace mylos {

/// The engine of a GEMM of a run, so that a restart can use the same one, or report that it does not.
struct PlannedEngine {
  GemmProblem problem;  // sizes, form and types
  std::string engine;   // its name in decks
};

struct PlannedEngines {
  std::string instructions;  // describe_instructions(); empty in plans without it
  std::vector<PlannedEngine> gemms;
  int threads = 0;            // per rank, on the host; 0 in plans without it
  bool library_sums = false;  // a library sums some convolution gradients; not in plans
};

/// The contents of a plan's text, which may not be executable.
struct StoredPlan {
  ChainCost cost;
  Schedule schedule;
  std::size_t arena_bytes = 0;
  std::int64_t micro_batch = 0;  // samples; 0 in plans of earlier versions
  PlannedEngines engines;        // empty in plans of earlier versions
};

/// Parses a plan. `source` names the text in messages, such as "plan.json". Throws Error (bad_input) if the
/// text is not JSON or not a plan, has another version, or has a member of a wrong type or beyond any
/// machine's memory.
[[nodiscard]] StoredPlan parse_plan(std::string_view text, const std::string& source);

/// Places the stored execution schedule for the chain with the bytes of `cost`. Predicted times come from the
/// stored text, so that a restarted run predicts the same times as the first one. Throws Error (bad_input) if
/// the plan was made for a chain with other bytes, cannot be executed, or takes more bytes than it states.
[[nodiscard]] Plan reuse_plan(const StoredPlan& stored, const ChainCost& cost, const std::string& source);

}  // namespace mylos
