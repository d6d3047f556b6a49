#include "mylos/train/plan/memory_fit.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/data/feed/share.hpp"
#include "mylos/planner/plan.hpp"
#include "mylos/train/evaluation/measures/measures.hpp"
#include "mylos/train/plan/division/sample_division.hpp"
#include "mylos/train/step/step_plan.hpp"

namespace mylos {
namespace {

constexpr int max_ranks = 1 << 16;         // that are proposed
constexpr std::int64_t max_division = 64;  // times the boxes of a sample that are proposed
constexpr std::size_t mebibyte = std::size_t{1} << 20;

std::string text_of(std::size_t bytes) {
  return format_bytes(static_cast<std::int64_t>(bytes));
}

/// Returns the fewest bytes of a rank, with an execution schedule that `options` allow.
std::size_t min_bytes(const MemoryStatement& statement, const MemoryOptions& options) {
  const std::size_t activations = smallest_plan(statement.cost, options).placement.bytes;
  return statement.fixed_bytes() + std::max(activations, statement.evaluation_bytes);
}

/// Returns the smallest budget in MiB for this many bytes of activations: with a larger one than that of
/// `statement`, more tokens may be held in memory.
std::size_t smallest_budget(const MemoryProblem& problem, const MemoryStatement& statement,
                            std::size_t activations) {
  MemoryProblem larger = problem.with(problem.network);
  std::size_t bytes = statement.fixed_bytes() + activations;
  while (true) {
    larger.budget = (bytes + mebibyte - 1) / mebibyte * mebibyte;
    bytes = state_memory(larger).fixed_bytes() + activations;
    if (bytes <= larger.budget) return larger.budget / mebibyte;
  }
}

std::string describe_budget(const MemoryProblem& problem) {
  const bool given = problem.options().memory.budget_bytes > 0;
  return text_of(problem.budget) + (given ? "" : " (memory.budget = \"auto\")");
}

/// Returns the largest of the halves of the micro-batch that fits, or what a reproducible run allows below
/// it; 0: none.
std::int64_t fitting_micro_batch(const MemoryProblem& problem, std::int64_t samples) {
  Options options = problem.options();
  while (samples > 1) {
    samples = (samples + 1) / 2;
    while (samples > 0 && !allows_ranks(options, samples, problem.network.ranks)) --samples;
    if (samples == 0) return 0;
    options.data.micro_batch = samples;
    if (would_fit(problem, options)) return samples;
  }
  return 0;
}

/// Returns the fewest of the doubles of the ranks that fit, each with as much memory; 0: none.
int fitting_ranks(const MemoryProblem& problem) {
  const Options& options = problem.options();
  const DataOptions& data = options.data;
  int ranks = problem.network.ranks;
  const auto share = [&] { return micro_batch_samples(largest_share(options, ranks), data.micro_batch); };
  const auto may_double = [&] {
    const std::int64_t boxes = problem.network.step.boxes;
    return 2 * ranks <= std::min<std::int64_t>(data.batch * boxes, max_ranks) &&
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

/// Returns the plan with each sample divided into the fewest boxes with which the run fits, on as many times
/// more ranks; nothing: none.
std::optional<NetworkPlan> fitting_space(const MemoryProblem& problem) {
  const NetworkPlan& network = problem.network;
  const Options& options = problem.options();
  if (options.model.shape.size() < 2 || options.data.augment.any()) return std::nullopt;
  if (options.run.reproducible) return std::nullopt;  // mesh.sums says which, and is part of the arithmetic
  for (std::int64_t factor = 2; factor <= max_division && network.ranks * factor <= max_ranks; factor *= 2) {
    const auto ranks = static_cast<int>(network.ranks * factor);
    if (auto plan = try_divisions(problem, network.step.boxes * factor, ranks).fitting) return plan;
  }
  return std::nullopt;
}

/// Returns the most applications of the network (rollout.steps) that fit, fewer than the deck's; 0: none.
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

/// Returns the first that shards more than the deck's, and fits.
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

/// Returns whether it is the matrix of an evaluation that does not fit.
bool fits_without_confusion(const MemoryProblem& problem) {
  Options options = problem.options();
  if (std::erase(options.run.metrics, Measure::confusion) == 0) return false;
  return would_fit(problem, options);
}

/// Returns why memory.on_oom = "shrink" has not helped.
std::string note_on_shrink(const MemoryProblem& problem, const MemoryStatement& statement) {
  if (statement.normalises_over_samples)
    return "memory.on_oom = \"shrink\" takes no smaller micro-batch, as batch normalisation takes its "
           "statistics from a micro-batch and would train another function; norm = \"groupnorm\" has none, "
           "and with norm_over = \"ranks\" more ranks share a micro-batch's samples";
  if (problem.options().optimizer.cuts_gradients(problem.network.ranks))
    return "memory.on_oom = \"shrink\" cannot help, as optimizer.shard = \"gradients\" needs a rank's share "
           "in one micro-batch";
  return "memory.on_oom = \"shrink\" found no smaller micro-batch that fits";
}

}  // namespace

bool fits_budget(const MemoryProblem& problem, std::size_t reserve) {
  MemoryStatement statement = state_memory(problem);
  statement.reserve_for_process(reserve);
  if (!statement.has_enough_samples()) return false;
  return min_bytes(statement, problem.options().memory) <= problem.budget;
}

bool would_fit(const MemoryProblem& problem, const Options& options, std::optional<int> ranks) {
  const int other = ranks.value_or(problem.network.ranks);
  if (shards_accumulated_gradients(options, other)) return false;
  return fits_budget(problem.with(problem.network.with(options, other)));
}

Error refusal(const MemoryProblem& problem, const MemoryStatement& statement) {
  const Options& options = problem.options();
  const MemoryOptions& memory = options.memory;
  const std::size_t least = min_bytes(statement, memory);
  const std::size_t fixed = statement.fixed_bytes();
  std::string message = fmt::format(
      "the run does not fit its budget of {} per rank: it takes {} and at least {} of activations for a "
      "micro-batch of {}. The smallest budget that would do is memory.budget = \"{} MiB\"",
      describe_budget(problem), text_of(fixed), text_of(least - fixed), statement.micro_batch,
      smallest_budget(problem, statement, least - fixed));
  const auto note = [&message](const std::string& text) { message += "; " + text; };
  bool is_proposed = false;
  const auto propose = [&](const std::string& text) {
    note(text);
    is_proposed = true;
  };

  if (memory.recompute != RecomputeMode::automatic && min_bytes(statement, {}) <= problem.budget)
    note("memory.recompute = \"auto\" would fit");
  if (const std::optional<Shard> shard = fitting_shard(problem))
    propose(fmt::format("optimizer.shard = \"{}\" would fit", name_of(*shard)));
  if (memory.on_oom == OutOfMemory::shrink) note(note_on_shrink(problem, statement));
  if (fits_without_confusion(problem)) {
    propose(
        fmt::format("run.metrics without \"confusion\" would fit, whose matrices of {} classes take {} each",
                    options.model.outputs, text_of(Measures::matrix_bytes(options.model.outputs))));
  }
  if (statement.saved_by_blocks > 0 && least - std::min(least, statement.saved_by_blocks) <= problem.budget)
    propose("data.shuffle = \"blocks\" would fit, which holds a part of the training samples");
  if (const std::int64_t samples = fitting_micro_batch(problem, statement.micro_batch); samples > 0) {
    propose(fmt::format("data.micro_batch = {} would fit{}", samples,
                        statement.normalises_over_samples
                            ? ", with the statistics of as many samples"
                            : " (memory.on_oom = \"shrink\" takes one that does)"));
  }
  if (const std::int64_t steps = fitting_rollout(problem); steps > 0)
    propose(
        fmt::format("rollout.steps = {} would fit, the most of fewer than {}", steps, options.rollout.steps));
  if (const int ranks = fitting_ranks(problem); ranks > 0)
    propose(fmt::format("{} ranks with as much memory each would fit", ranks));
  if (const auto divided = fitting_space(problem)) {
    propose(fmt::format("mesh.space = [{}], which divides each sample, would fit on {} ranks of {} per rank",
                        fmt::join(divided->options.mesh.space, ", "), divided->ranks,
                        text_of(problem.budget)));
  }
  if (!is_proposed) note("neither a smaller data.micro_batch nor more ranks are enough");
  return {ExitCode::does_not_fit, errors::does_not_fit, message};
}

Error refusal_of_plan(const MemoryProblem& problem, const MemoryStatement& statement,
                      const std::string& source, std::size_t bytes, std::size_t activations) {
  return {ExitCode::does_not_fit, errors::does_not_fit,
          fmt::format("{} takes {} per rank, more than the budget of {}; it needs memory.budget = \"{} MiB\"",
                      source, text_of(bytes), describe_budget(problem),
                      smallest_budget(problem, statement, activations))};
}

}  // namespace mylos
