#include "mylos/train/plan/product_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/errors/machine.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/kernels/gemm/gemm_measure.hpp"

namespace mylos {
namespace {

/// Returns whether an engine is an algorithm of a device's library, which does not depend on the host
/// processor's instructions.
bool is_library_algorithm(const std::string& engine) {
  return engine.starts_with("cublaslt/") || engine.starts_with("hipblaslt/");
}

/// Returns whether a library on the host computes sums. A device's library does not depend on the number of
/// host threads.
bool sums_by_host_library(const Chain& chain, const Engines& engines) {
  return memory_is_host && std::any_of(chain.blocks.begin(), chain.blocks.end(),
                                       [&](const auto& block) { return block->sums_by_library(engines); });
}

/// Returns the GEMM with the row sums that layers compute together with it.
GemmProblem as_computed(const GemmProblem& problem, const std::vector<ChainProduct>& all,
                        const GemmEngine& gemm) {
  const bool has_bias = std::any_of(all.begin(), all.end(), [&](const ChainProduct& other) {
    return other.product.has_bias && same_product(other.product.problem, problem);
  });
  return has_bias ? with_row_sums(gemm, problem) : problem;
}

}  // namespace

const ProductEngine* find_product(const ProductEngines& engines, const GemmProblem& problem) {
  const auto found =
      std::find_if(engines.products.begin(), engines.products.end(),
                   [&](const ProductEngine& product) { return same_product(product.problem, problem); });
  return found == engines.products.end() ? nullptr : &*found;
}

std::vector<ChainProduct> products_of_run(const MemoryProblem& problem) {
  const NetworkPlan& network = problem.network;
  return products_of(network.training_chain(), network.step.micro_batch * network.chain.rows_per_sample);
}

ProductEngines engines_in_use(const MemoryProblem& problem) {
  ProductEngines engines{.instructions = describe_instructions(),
                         .products = {},
                         .threads = Kokkos::DefaultHostExecutionSpace().concurrency()};
  engines.library_sums = sums_by_host_library(problem.network.training_chain(), problem.engines);
  for (const GemmProblem& product : distinct_problems(products_of_run(problem)))
    engines.products.push_back({product, std::string(problem.engines.gemm.engine_of(product))});
  return engines;
}

std::string choose_engines(const MemoryProblem& problem, const ProductEngines& known) {
  if (problem.engines.gemm.alternatives().empty()) return "";
  const bool same_instructions = known.instructions == describe_instructions();
  std::vector<GemmProblem> missing;
  const std::vector<ChainProduct> all = products_of_run(problem);
  for (const GemmProblem& product : distinct_problems(all)) {
    const ProductEngine* before = find_product(known, product);
    const bool goes_here = before != nullptr && (same_instructions || is_library_algorithm(before->engine));
    if (!goes_here || !problem.engines.gemm.choose(product, before->engine))
      missing.push_back(as_computed(product, all, problem.engines.gemm));
  }
  const GemmMeasurement measured = measure_products(Execution{}, problem.engines.gemm, missing);
  if (measured.products == 0) return "";
  return fmt::format("engines of {} products measured in {:.1f} s", measured.products, measured.seconds);
}

void take_engines(GemmEngine& gemm, const ProductEngines& chosen) {
  if (gemm.alternatives().empty()) return;
  for (const auto& [problem, engine] : chosen.products) {
    // Another device, or another version of the library, has other algorithms. It then uses its own choice,
    // since ranks compute different samples anyway.
    if (!gemm.choose(problem, engine) && !is_library_algorithm(engine))
      fail_run(errors::not_in_build, "GEMM engine '{}' is not available in this build", engine);
  }
}

ProductEngines engines_of(const CheckpointReader& saved) {
  if (!saved.exists("/plan/list")) return {};
  const std::string text = saved.text("/plan/list");
  try {
    return parse_plan(text, saved.path()).engines;
  } catch (const Error&) {  // making a new plan reports the reason
  }
  return {};
}

std::string rounding_note(const ProductEngines& before, const ProductEngines& now) {
  if (before.products.empty()) return "";
  if (memory_is_host && before.instructions != now.instructions) {
    return fmt::format("products ran by {} before, and run by {} here: sums may be rounded differently",
                       printable(before.instructions, 200), now.instructions);
  }
  std::string text;
  for (const auto& [problem, engine] : now.products) {
    const ProductEngine* earlier = find_product(before, problem);
    if (earlier == nullptr || earlier->engine == engine) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {} x {} x {} by {} before and by {} here", name_of(form_of(problem)), problem.m,
                        problem.n, problem.k, earlier->engine, engine);
  }
  return text.empty() ? "" : fmt::format("products run {}: sums may be rounded differently", text);
}

std::string thread_note(const ProductEngines& before, const ProductEngines& now) {
  const auto is_by_onednn = [](const ProductEngine& product) { return product.engine == "onednn"; };
  if (before.threads == 0 || before.threads == now.threads) return "";
  const bool products = std::any_of(now.products.begin(), now.products.end(), is_by_onednn);
  if (!products && !now.library_sums) return "";
  return fmt::format(
      "{} by oneDNN ran on {} thread{} of each rank before, and run on {} here: sums may be rounded "
      "differently",
      !now.library_sums ? "products"
      : products        ? "products and convolutions"
                        : "convolutions",
      before.threads, before.threads == 1 ? "" : "s", now.threads);
}

}  // namespace mylos
