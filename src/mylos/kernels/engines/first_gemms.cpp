#include "mylos/kernels/engines/first_gemms.hpp"

#include <algorithm>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

constexpr std::int64_t small_extent = 256;

std::vector<GemmProblem> first_problems() {
  std::vector<GemmProblem> problems;
  for (const DType type : {DType::bf16, DType::fp16, DType::fp32}) {
    problems.push_back(linear_output(small_extent, small_extent, small_extent, type));
    problems.push_back(linear_input_gradient(small_extent, small_extent, small_extent, type));
    problems.push_back(linear_weight_gradient(small_extent, small_extent, small_extent, type, DType::fp32));
  }
  return problems;
}

}  // namespace

void run_first_gemms(GemmEngine& engine) {
  const Execution execution;
  std::vector<GemmEngine*> engines = engine.alternatives();
  if (engines.empty()) engines.push_back(&engine);
  constexpr std::size_t matrix = aligned_bytes(std::size_t{small_extent * small_extent} * sizeof(float));
  for (GemmEngine* const each : engines) {
    std::size_t workspace = 0;
    for (const GemmProblem& problem : first_problems())
      workspace = std::max(workspace, each->workspace_bytes(problem));
    const Arena arena("first GEMMs", 3 * matrix + workspace);
    const GemmOperands operands{arena.data(), arena.data() + matrix, arena.data() + 2 * matrix};
    for (const GemmProblem& problem : first_problems())
      each->run(execution, problem, operands, arena.data() + 3 * matrix);
    execution.fence("first GEMMs");
  }
}

}  // namespace mylos
