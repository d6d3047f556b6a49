#include "memory_refusal.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "mylos/base/units.hpp"
#include "mylos/data/share.hpp"

namespace mylos {
namespace {

constexpr int most_ranks = 1 << 16;

/// The fewest bytes of a rank. `free`: with any list of operations, else with the one that the deck asks for.
std::size_t least_bytes(const MemoryStatement& statement, const MemoryOptions& options, bool free) {
  std::size_t activations = 0;
  if (free || options.recompute == RecomputeMode::automatic) {
    activations = smallest_plan(statement.cost).placement.bytes;
  } else {
    activations =
        make_plan(statement.cost, std::numeric_limits<std::size_t>::max(), options)->placement.bytes;
  }
  return statement.fixed_bytes() + std::max(activations, statement.evaluation_bytes);
}

std::size_t least_bytes(const MemoryProblem& problem, const Options& options, const RunPlace& place) {
  return least_bytes(state_memory(options, problem.gemm, place, problem.data), options.memory, false);
}

/// The largest of the halves of the micro-batch that fits; 0: none.
std::int64_t fitting_micro_batch(const MemoryProblem& problem, std::int64_t samples) {
  Options options = problem.options;
  while (samples > 1) {
    samples = (samples + 1) / 2;
    options.data.micro_batch = samples;
    if (least_bytes(problem, options, problem.place) <= problem.budget) return samples;
  }
  return 0;
}

/// The fewest of the doubles of the ranks that fit, each with as much memory; 0: none.
int fitting_ranks(const MemoryProblem& problem) {
  const Options& options = problem.options;
  RunPlace place = problem.place;
  const auto share = [&options](int ranks) {
    return micro_batch_samples(batch_share(options.data.batch, 0, ranks).count, options.data.micro_batch);
  };
  while (2 * place.ranks <= std::min<std::int64_t>(options.data.batch, most_ranks)) {
    const std::int64_t before = share(place.ranks);
    place.ranks *= 2;
    if (share(place.ranks) == before) continue;
    if (least_bytes(problem, options, place) <= problem.budget) return place.ranks;
  }
  return 0;
}

std::string in_mebibytes(std::size_t bytes) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  return fmt::format("{} MiB", (bytes + mebibyte - 1) / mebibyte);
}

std::string of_the_budget(const MemoryProblem& problem) {
  const bool given = problem.options.memory.budget_bytes > 0;
  return fmt::format("{}{}", format_bytes(static_cast<std::int64_t>(problem.budget)),
                     given ? "" : " (memory.budget = \"auto\")");
}

}  // namespace

void refuse(const MemoryProblem& problem, const MemoryStatement& statement) {
  const MemoryOptions& memory = problem.options.memory;
  const std::size_t least = least_bytes(statement, memory, false);
  const std::size_t fixed = statement.fixed_bytes();
  std::string message = fmt::format(
      "the run does not fit its budget of {} per rank: it takes {} and at least {} of activations for a "
      "micro-batch of {}. The smallest budget that would do is memory.budget = \"{}\"",
      of_the_budget(problem), format_bytes(static_cast<std::int64_t>(fixed)),
      format_bytes(static_cast<std::int64_t>(least - fixed)), statement.micro_batch, in_mebibytes(least));
  const bool fixed_list = memory.recompute != RecomputeMode::automatic;
  if (fixed_list && least_bytes(statement, memory, true) <= problem.budget) {
    message += "; memory.recompute = \"auto\" would fit";
  }
  const std::int64_t micro_batch = fitting_micro_batch(problem, statement.micro_batch);
  const int ranks = fitting_ranks(problem);
  if (micro_batch > 0) message += fmt::format("; data.micro_batch = {} would fit", micro_batch);
  if (ranks > 0) message += fmt::format("; {} ranks with as much memory each would fit", ranks);
  if (micro_batch == 0 && ranks == 0)
    message += "; neither a smaller data.micro_batch nor more ranks are enough";
  throw Error(ExitCode::does_not_fit, message);
}

void require_free_memory(const MemoryPlan& plan, std::optional<std::int64_t> free_bytes,
                         int ranks_on_device) {
  if (!free_bytes) return;
  const auto needed = static_cast<std::int64_t>(plan.rank_bytes());
  const std::int64_t share = *free_bytes / ranks_on_device;
  if (needed <= share) return;
  throw Error(ExitCode::does_not_fit,
              fmt::format("the plan takes {} of device memory per rank, and {} are free on the device{}. End "
                          "what else runs there, or set memory.budget to less than that",
                          format_bytes(needed), format_bytes(*free_bytes),
                          ranks_on_device == 1 ? ""
                                               : fmt::format(", which {} ranks share: {} each",
                                                             ranks_on_device, format_bytes(share))));
}

void refuse(const MemoryProblem& problem, const MemoryPlan& plan, const std::string& source) {
  throw Error(ExitCode::does_not_fit,
              fmt::format("{} takes {} per rank, more than the budget of {}; it needs memory.budget = \"{}\"",
                          source, format_bytes(static_cast<std::int64_t>(plan.rank_bytes())),
                          of_the_budget(problem), in_mebibytes(plan.rank_bytes())));
}

}  // namespace mylos
