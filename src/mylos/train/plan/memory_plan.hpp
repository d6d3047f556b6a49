// MemoryPlan: what a rank takes and in which order a micro-batch is computed so that it stays within the
// budget.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/planner/plan.hpp"
#include "mylos/train/plan/memory_statement.hpp"
#include "mylos/train/plan/stored_plan.hpp"

namespace mylos {

struct MemoryPlan {
  MemoryStatement statement;  // its cost has the times that the plan was made from
  Plan plan;
  std::size_t budget = 0;
  PlannedEngines engines = {};
  // Of the state, on rank 0 or, where it is sharded, on each; 0: steps wait while a checkpoint is
  // written.
  std::size_t checkpoint_copy = 0;

  /// Of the activations: what the plan takes, and an evaluation.
  [[nodiscard]] std::size_t arena_bytes() const;
  [[nodiscard]] std::size_t rank_bytes() const {
    return statement.fixed_bytes() + arena_bytes() + (memory_is_host ? checkpoint_copy : 0);
  }
  /// Milliseconds of a step, without the exchange between ranks.
  [[nodiscard]] double step_time() const;
  /// By how much recomputation lengthens the step: 0.05 = 5 %.
  [[nodiscard]] double overhead() const;
};

/// The plan that the deck asks for, by the model's times. Throws Error (does_not_fit) where it does not stay
/// within the budget, saying what would; Error (bad_input) where the deck's groups are not those of the
/// model.
[[nodiscard]] MemoryPlan plan_memory(const MemoryProblem& problem);

/// Returns what a rank on a device has in addition to its plan: `connections` bytes of NCCL, and the reserve
/// of libraries.
[[nodiscard]] std::string describe_device_libraries(std::size_t connections);

/// Throws Error (does_not_fit) where a device has less than `plan` and the reserve of libraries free for each
/// of the ranks that share it. `free_bytes`: of the device, as of free_device_memory(); nothing where memory
/// is the host's.
void require_free_memory(const MemoryPlan& plan, std::optional<std::int64_t> free_bytes, int ranks_on_device);

/// Throws Error (does_not_fit) where the host of a device has less memory left for each rank than the plan
/// takes there. `available`: of the host, for all ranks on it; nothing where the budget includes it.
void require_host_memory(const MemoryPlan& plan, std::optional<std::int64_t> available);

/// Whether a run that starts measures times: where the deck says so, and by itself where the plan is ours to
/// choose and does not keep all.
[[nodiscard]] bool wants_measured_times(const MemoryOptions& options, const MemoryPlan& by_model);

struct MeasuredPlan {
  MemoryPlan plan;
  std::string note;  // what was measured, or why nothing was
};

/// The plan by times that are measured here and now, in no more memory than the run itself will take. Where
/// that is too little it is `by_model`.
[[nodiscard]] MeasuredPlan plan_by_measured_times(const MemoryProblem& problem, MemoryPlan by_model);

/// The plan of an earlier time. Throws as reuse_plan() does where it is that of another model or
/// micro-batch, and as plan_memory() where it does not fit.
[[nodiscard]] MemoryPlan plan_again(const MemoryProblem& problem, const StoredPlan& stored,
                                    const std::string& source);

/// Returns a new plan as plan_again() makes it of its text, so that the rank that made it need not make it
/// again.
[[nodiscard]] MemoryPlan as_shared(const MemoryProblem& problem, MemoryPlan plan);

/// "every block keeps all", "of 26 blocks 18 run forward again, 4 keep less than all; 3.1 % more time per
/// step".
[[nodiscard]] std::string describe(const MemoryPlan& plan);

/// A line on what the search for the plan approximated; empty where it was exact, and for a plan of an
/// earlier time.
[[nodiscard]] std::string note_on_search(const MemoryPlan& plan);

}  // namespace mylos
