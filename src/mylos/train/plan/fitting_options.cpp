#include "mylos/train/plan/fitting_options.hpp"

#include <algorithm>
#include <vector>

#include "mylos/data/feed/share.hpp"
#include "mylos/train/plan/memory_plan.hpp"
#include "mylos/train/step/step_plan.hpp"

namespace mylos {
namespace {

constexpr int max_ranks = 1 << 16;  // that are proposed

}  // namespace

std::int64_t fitting_micro_batch(const MemoryProblem& problem, std::int64_t samples) {
  Options options = problem.options();
  while (samples > 1) {
    samples = (samples + 1) / 2;
    while (!allows_ranks(options, samples, problem.network.ranks)) --samples;  // 1 is always allowed
    options.data.micro_batch = samples;
    if (would_fit(problem, options)) return samples;
  }
  return 0;
}

int fitting_ranks(const MemoryProblem& problem) {
  const Options& options = problem.options();
  const DataOptions& data = options.data;
  int ranks = problem.network.ranks;
  const auto share = [&] {
    return micro_batch_samples(batch_share(data.batch, 0, ranks).count, data.micro_batch);
  };
  const auto may_double = [&] {
    return 2 * ranks <= std::min<std::int64_t>(data.batch, max_ranks) &&
           allows_ranks(options, data.micro_batch, 2 * ranks);
  };
  while (may_double()) {
    const std::int64_t before = share();
    ranks *= 2;
    const bool takes_less = share() != before || options.optimizer.shard != Shard::none;
    if (takes_less && would_fit(problem, options, ranks)) return ranks;
  }
  return 0;
}

std::int64_t fitting_rollout(const MemoryProblem& problem) {
  const auto fits = [&](std::int64_t steps) {
    Options options = problem.options();
    options.rollout.steps = steps;
    std::vector<double>& weights = options.rollout.weights;
    if (!weights.empty()) weights.erase(weights.begin(), weights.end() - steps);
    return would_fit(problem, options);
  };
  std::int64_t fitting = 0;
  std::int64_t too_many = problem.options().rollout.steps;
  while (too_many - fitting > 1) {  // bytes rise with the steps
    const std::int64_t middle = fitting + (too_many - fitting) / 2;
    (fits(middle) ? fitting : too_many) = middle;
  }
  return fitting;
}

std::optional<Shard> fitting_shard(const MemoryProblem& problem) {
  if (problem.network.ranks == 1) return std::nullopt;
  Options options = problem.options();
  for (const Shard shard : {Shard::state, Shard::gradients}) {
    if (shard <= problem.options().optimizer.shard) continue;
    options.optimizer.shard = shard;
    if (would_fit(problem, options)) return shard;
  }
  return std::nullopt;
}

bool fits_without_confusion(const MemoryProblem& problem) {
  Options options = problem.options();
  if (std::erase(options.run.metrics, Measure::confusion) == 0) return false;
  return would_fit(problem, options);
}

}  // namespace mylos
