#include "mylos/train/plan/smaller_micro_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "mylos/base/errors/units.hpp"
#include "mylos/data/feed/share.hpp"
#include "mylos/model/chain/buffers.hpp"
#include "mylos/train/plan/memory_fit.hpp"

namespace mylos {
namespace {

/// Returns the sizes below `own` that divide the local batch evenly, in descending order.
std::vector<std::int64_t> even_sizes(std::int64_t share, std::int64_t own) {
  std::vector<std::int64_t> sizes;
  const auto divide = [share](std::int64_t by) { return (share + by - 1) / by; };
  for (std::int64_t size = own; size > 1;) {
    size = divide(divide(size - 1));  // with the fewest micro-batches of a smaller size
    sizes.push_back(size);
  }
  return sizes;
}

/// Returns the sizes for a reproducible run: all micro-batches have the same size, and ranks can share them.
std::vector<std::int64_t> reproducible_sizes(const MemoryProblem& problem, std::int64_t own) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = own - 1; size > 0; --size) {
    if (allows_ranks(problem.options(), size, problem.network.ranks)) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

bool may_shrink(const NetworkPlan& network) {
  return BufferStore::sum_bytes(network.chain) == 0;
}

std::optional<SmallerMicroBatch> smaller_micro_batch(const MemoryProblem& problem) {
  Options options = problem.options();
  if (options.memory.on_oom != OutOfMemory::shrink) return std::nullopt;
  if (fits_budget(problem, problem.starts ? start_spread : 0)) return std::nullopt;
  if (!may_shrink(problem.network)) return std::nullopt;
  const std::int64_t share = largest_share(options, problem.network.ranks);
  const std::int64_t own = problem.network.step.micro_batch;
  const std::vector<std::int64_t> sizes =
      options.run.reproducible ? reproducible_sizes(problem, own) : even_sizes(share, own);
  const auto is_too_large = [&](std::int64_t samples) {
    options.data.micro_batch = samples;
    return !would_fit(problem, options);
  };
  // A reproducible run stores more sums the more micro-batches it has, so a smaller size need not fit
  // better.
  const auto found = options.run.reproducible
                         ? std::find_if_not(sizes.begin(), sizes.end(), is_too_large)
                         : std::partition_point(sizes.begin(), sizes.end(), is_too_large);
  if (found == sizes.end()) return std::nullopt;
  return SmallerMicroBatch{
      *found,
      fmt::format("memory.on_oom: a micro-batch of {} does not fit the budget of {} per rank; {} fits and is "
                  "taken, {} of them for a rank in a step",
                  own, format_bytes(static_cast<std::int64_t>(problem.budget)), *found,
                  micro_batch_count(share, *found))};
}

}  // namespace mylos
