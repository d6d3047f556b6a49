// The GEMM engine of each matrix GEMM of a run: chosen by the deck, by the table, or by measurements
// before the run allocates its memory.
#pragma once

#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/model/chain/chain_products.hpp"
#include "mylos/train/plan/memory_statement.hpp"
#include "mylos/train/plan/stored_plan.hpp"

namespace mylos {

/// Returns the GEMMs of a micro-batch of the run.
[[nodiscard]] std::vector<ChainProduct> gemms_of_run(const MemoryProblem& problem);

/// Returns the engines that compute the GEMMs now.
[[nodiscard]] PlannedEngines engines_in_use(const MemoryProblem& problem);

/// Returns the entry of `problem`, or null if there is none.
[[nodiscard]] const PlannedEngine* find_engine(const PlannedEngines& engines, const GemmProblem& problem);

/// Chooses engines for kernels.gemm = "measure", on one rank. Reuses engines that were measured with the
/// same instructions, and measures the other GEMMs. Returns a line about the measurement; "" if nothing was
/// measured.
[[nodiscard]] std::string choose_engines(const MemoryProblem& problem, const PlannedEngines& known);

/// Applies a choice that was made on another rank or at another time. Throws Error if an engine is not
/// available.
void take_engines(GemmEngine& gemm, const PlannedEngines& chosen);

/// Returns the engines in the text of a checkpoint's plan; nothing if it has none, or one that cannot be
/// parsed.
[[nodiscard]] PlannedEngines engines_of(const CheckpointReader& saved);

/// Returns why sums may be rounded differently than before: other instructions, or other engines for the
/// same GEMMs. Returns "" if nothing differs, or if nothing is known about the earlier run.
[[nodiscard]] std::string rounding_note(const PlannedEngines& before, const PlannedEngines& now);

/// Returns why sums may be rounded differently with another number of threads: oneDNN divides sums by
/// threads. Other engines round alike with any number.
[[nodiscard]] std::string thread_note(const PlannedEngines& before, const PlannedEngines& now);

}  // namespace mylos
