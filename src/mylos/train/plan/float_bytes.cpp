#include "mylos/train/plan/float_bytes.hpp"

#include "mylos/train/plan/memory_plan.hpp"

namespace mylos {
namespace {

constexpr std::size_t any_budget = std::size_t{1} << 50;

}  // namespace

std::size_t float_rank_bytes(const MemoryProblem& problem) {
  Options options = problem.options();
  options.precision.compute = DType::fp32;
  options.precision.rules.clear();
  options.precision.masters = MasterWeights::fp32;
  options.memory.recompute = RecomputeMode::none;
  try {
    MemoryProblem in_float = problem.with(problem.network.with(options));
    in_float.budget = any_budget;
    return plan_memory(in_float).rank_bytes();
  } catch (const Error&) {  // such as more values in a row than a kernel takes
    return 0;
  }
}

}  // namespace mylos
