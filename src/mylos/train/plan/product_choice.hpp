// Which engine computes each product of a run: as the deck says, as the table says, or as is measured before
// the run takes its memory.
#pragma once

#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/model/chain/chain_products.hpp"
#include "mylos/train/plan/memory_statement.hpp"
#include "mylos/train/plan/stored_plan.hpp"

namespace mylos {

/// Of a micro-batch of the run.
[[nodiscard]] std::vector<ChainProduct> products_of_run(const MemoryProblem& problem);

/// As they are computed now.
[[nodiscard]] ProductEngines engines_in_use(const MemoryProblem& problem);

/// Null where it is not among them.
[[nodiscard]] const ProductEngine* find_product(const ProductEngines& engines, const GemmProblem& problem);

/// For kernels.gemm = "measure", on one rank: takes the engines that were measured by the same instructions,
/// and measures the products that are not among them. Returns a line about it; empty where nothing was
/// measured.
[[nodiscard]] std::string choose_engines(const MemoryProblem& problem, const ProductEngines& known);

/// The same choice on another rank, or at another time. Throws Error where an engine is not here.
void take_engines(GemmEngine& gemm, const ProductEngines& chosen);

/// Of a checkpoint: what the text of its plan says; nothing where it has none, or one that cannot be
/// understood.
[[nodiscard]] ProductEngines engines_of(const CheckpointReader& saved);

/// Why sums may be rounded differently now than before: other instructions, or other engines for products
/// that were there before. Empty where nothing differs, or nothing is known of before.
[[nodiscard]] std::string rounding_note(const ProductEngines& before, const ProductEngines& now);

/// The same of another number of threads, by which oneDNN cuts sums; other engines round alike on any.
[[nodiscard]] std::string thread_note(const ProductEngines& before, const ProductEngines& now);

}  // namespace mylos
