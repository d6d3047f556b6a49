#include "mylos/train/plan/engine_choice.hpp"

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

const PlannedEngine* find_engine(const PlannedEngines& engines, const GemmProblem& problem) {
  const auto found = std::find_if(engines.gemms.begin(), engines.gemms.end(), [&](const PlannedEngine& gemm) {
    return same_product(gemm.problem, problem);
  });
  return found == engines.gemms.end() ? nullptr : &*found;
}

std::vector<ChainProduct> gemms_of_run(const MemoryProblem& problem) {
  const NetworkPlan& network = problem.network;
  return products_of(network.training_chain(), network.step.micro_batch * network.chain.rows_per_sample);
}

PlannedEngines engines_in_use(const MemoryProblem& problem) {
  PlannedEngines engines{.instructions = describe_instructions(),
                         .gemms = {},
                         .threads = Kokkos::DefaultHostExecutionSpace().concurrency()};
  engines.library_sums = sums_by_host_library(problem.network.training_chain(), problem.engines);
  for (const GemmProblem& gemm : distinct_problems(gemms_of_run(problem)))
    engines.gemms.push_back({gemm, std::string(problem.engines.gemm.engine_of(gemm))});
  return engines;
}

std::string choose_engines(const MemoryProblem& problem, const PlannedEngines& known) {
  if (problem.engines.gemm.alternatives().empty()) return "";
  const bool same_instructions = known.instructions == describe_instructions();
  std::vector<GemmProblem> missing;
  const std::vector<ChainProduct> all = gemms_of_run(problem);
  for (const GemmProblem& gemm : distinct_problems(all)) {
    const PlannedEngine* before = find_engine(known, gemm);
    const bool goes_here = before != nullptr && (same_instructions || is_library_algorithm(before->engine));
    if (!goes_here || !problem.engines.gemm.choose(gemm, before->engine))
      missing.push_back(as_computed(gemm, all, problem.engines.gemm));
  }
  const GemmMeasurement measured = measure_gemms(Execution{}, problem.engines.gemm, missing);
  if (measured.gemms == 0) return "";
  return fmt::format("engines of {} GEMMs measured in {:.1f} s", measured.gemms, measured.seconds);
}

void take_engines(GemmEngine& gemm, const PlannedEngines& chosen) {
  if (gemm.alternatives().empty()) return;
  for (const auto& [problem, engine] : chosen.gemms) {
    // Another device, or another version of the library, has other algorithms. It then uses its own choice,
    // since ranks compute different samples anyway.
    if (!gemm.choose(problem, engine) && !is_library_algorithm(engine))
      fail_run(errors::not_in_build, "GEMM engine '{}' is not available in this build", engine);
  }
}

PlannedEngines engines_of(const CheckpointReader& saved) {
  if (!saved.exists("/plan/list")) return {};
  const std::string text = saved.text("/plan/list");
  try {
    return parse_plan(text, saved.path()).engines;
  } catch (const Error&) {  // making a new plan reports the reason
  }
  return {};
}

std::string rounding_note(const PlannedEngines& before, const PlannedEngines& now) {
  if (before.gemms.empty()) return "";
  if (memory_is_host && before.instructions != now.instructions) {
    return fmt::format("GEMMs ran by {} before, and run by {} here: sums may be rounded differently",
                       printable(before.instructions, 200), now.instructions);
  }
  std::string text;
  for (const auto& [problem, engine] : now.gemms) {
    const PlannedEngine* earlier = find_engine(before, problem);
    if (earlier == nullptr || earlier->engine == engine) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {} x {} x {} by {} before and by {} here", name_of(form_of(problem)), problem.m,
                        problem.n, problem.k, earlier->engine, engine);
  }
  return text.empty() ? "" : fmt::format("GEMMs run {}: sums may be rounded differently", text);
}

std::string thread_note(const PlannedEngines& before, const PlannedEngines& now) {
  const auto is_by_onednn = [](const PlannedEngine& gemm) { return gemm.engine == "onednn"; };
  if (before.threads == 0 || before.threads == now.threads) return "";
  const bool any = std::any_of(now.gemms.begin(), now.gemms.end(), is_by_onednn);
  if (!any && !now.library_sums) return "";
  return fmt::format(
      "{} by oneDNN ran on {} thread{} of each rank before, and run on {} here: sums may be rounded "
      "differently",
      !now.library_sums ? "GEMMs"
      : any             ? "GEMMs and convolutions"
                        : "convolutions",
      before.threads, before.threads == 1 ? "" : "s", now.threads);
}

}  // namespace mylos
