#include "mylos/train/plan/library_code.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "mylos/data/feed/share.hpp"
#include "mylos/model/chain/chain_cost.hpp"

namespace mylos {
namespace {

/// Returns the distinct numbers of samples in the micro-batches of a rank.
std::set<std::int64_t> micro_batch_sizes(const MemoryProblem& problem, const EvaluationOptions& evaluation) {
  const StepPlan& step = problem.network.step;
  std::set<std::int64_t> sizes;
  const auto add = [&](std::int64_t samples) {
    if (samples >= step.micro_batch) sizes.insert(step.micro_batch);
    if (samples % step.micro_batch > 0) sizes.insert(samples % step.micro_batch);
  };
  add(batch_share(problem.options().data.batch, evaluation.rank, evaluation.ranks).count);
  for (const DataPart part : judging_parts) {
    if (problem.data != nullptr && problem.data->has(part))
      add(evaluation.share(problem.data->samples(part)).count);
  }
  return sizes;
}

}  // namespace

std::size_t library_code_bytes(const MemoryProblem& problem, EvaluationOptions evaluation) {
  std::size_t bytes = 0;
  for (const int rank : {0, problem.network.ranks - 1}) {
    evaluation.rank = rank;
    const std::set<std::int64_t> sizes = micro_batch_sizes(problem, evaluation);
    const std::vector<std::int64_t> samples(sizes.begin(), sizes.end());
    bytes =
        std::max(bytes, convolution_code_bytes(problem.network.training_chain(), problem.engines, samples));
  }
  return bytes;
}

}  // namespace mylos
