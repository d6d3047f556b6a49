// StoredPlan: a plan that comes from JSON text: plan.json, `mylos plan --json`, the copy in the checkpoint,
// and rank 0's for all ranks.
//
// {"format": "mylos-plan", "version": 1, "micro_batch": …, "arena_bytes": …, "live_peak_bytes": …, "time_ms":
// …,
//  "store_all_time_ms": …, "cost": {"times": "measured", …: what the chain's blocks cost}, "operations":
//  [{"run": "forward", "block": 0, "keep": "variant", "variant": 1}, …, {"run": "loss"}, …,
//  {"run": "backward", "block": 0, …}], "instructions": "avx512-bf16", "threads": 8, "products": [{"form":
//  "dW", "m": …, "n": …, "k": …, "type": "bf16", "stored": "fp32", "engine": "tiles"}, …]}
//
// Other members are left alone, so that tools may add theirs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/planner/plan.hpp"

namespace mylos {

/// What computes the products of a run: so that a restart can compute them the same way, or say that it does
/// not.
struct ProductEngine {
  GemmProblem problem;  // sizes, form and types
  std::string engine;   // by the name that decks use
};

struct ProductEngines {
  std::string instructions;  // describe_instructions(); empty in plans that do not say
  std::vector<ProductEngine> products;
  int threads = 0;            // of a rank, on the host; 0 in plans that do not say
  bool library_sums = false;  // some gradients are a library's of convolutions; no plan says it
};

/// What a text says; not yet that it can be executed.
struct StoredPlan {
  ChainCost cost;
  Schedule schedule;
  std::size_t arena_bytes = 0;
  std::int64_t micro_batch = 0;  // samples; 0 in plans of versions that did not say
  ProductEngines engines;        // empty in plans of versions that did not say
};

/// `source` names the text in messages: "plan.json". Throws bad input where the text is no JSON, no plan, of
/// another version, or has a member of another type or beyond what any machine holds.
[[nodiscard]] StoredPlan parse_plan(std::string_view text, const std::string& source);

/// The stored list, placed anew for the chain whose bytes are `cost`. The predicted times are made from those
/// in the stored text, so that a restarted run predicts what the first one did. Throws bad input where the
/// plan was made for a chain of other bytes, cannot be executed, or takes more bytes than it states.
[[nodiscard]] Plan reuse_plan(const StoredPlan& stored, const ChainCost& cost, const std::string& source);

}  // namespace mylos
