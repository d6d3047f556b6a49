#include "mylos/train/step/step_plan.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/data/feed/share.hpp"

namespace mylos {

std::vector<std::int64_t> reproducible_ranks(std::int64_t micro_batches) {
  std::vector<std::int64_t> counts;
  for (std::int64_t ranks = 1; micro_batches % ranks == 0; ranks *= 2) counts.push_back(ranks);
  return counts;
}

namespace {

/// Returns the numbers of groups of ranks, of which each has its own samples, that a reproducible run can
/// have.
std::vector<std::int64_t> reproducible_batch_ranks(const Options& options, std::int64_t micro_batch,
                                                   int ranks) {
  const std::int64_t micro_batches = options.data.batch / micro_batch;
  std::vector<std::int64_t> counts = reproducible_ranks(micro_batches);
  if (Mesh(options.mesh, 0, ranks).boxes() > 1)
    std::erase_if(counts, [&](std::int64_t count) { return count != micro_batches; });
  return counts;
}

/// Refuses a step that has another number of micro-batches than of groups of ranks that share samples.
[[noreturn]] void fail_shared_samples(const Options& options, std::int64_t micro_batches, const Mesh& mesh) {
  const int groups = mesh.batch_ranks();
  const std::int64_t batch = options.data.batch;
  std::vector<std::string> right;
  if (reproducible_ranks(micro_batches).back() == micro_batches)
    right.push_back(fmt::format("start {} ranks", micro_batches * mesh.boxes()));
  if (batch % groups == 0 && reproducible_ranks(groups).back() == groups)
    right.push_back(fmt::format("set data.micro_batch = {}", batch / groups));
  if (right.empty()) {
    right.push_back(fmt::format("start {} ranks and set data.micro_batch = {}",
                                reproducible_ranks(batch).back() * mesh.boxes(),
                                batch / reproducible_ranks(batch).back()));
  }
  fail_input(errors::not_reproducible,
             "run.reproducible: {} ranks share each sample (mesh.space), and each group of them has one "
             "micro-batch of a step, a power of two in all; there {} {} group{}, and the step has {}; {}",
             mesh.boxes(), groups == 1 ? "is" : "are", groups, groups == 1 ? "" : "s", micro_batches,
             fmt::join(right, ", or "));
}

}  // namespace

StepPlan make_step_plan(std::int64_t batch, std::int64_t micro_batch, int rank, int ranks) {
  const std::int64_t largest_share = batch_share(batch, 0, ranks).count;
  StepPlan plan;
  plan.batch = batch;
  plan.micro_batch = micro_batch_samples(largest_share, micro_batch);
  plan.own_samples = batch_share(batch, rank, ranks).count;
  plan.micro_batches = micro_batch_count(plan.own_samples, micro_batch);
  plan.max_micro_batches = micro_batch_count(largest_share, micro_batch);
  plan.min_micro_batches = micro_batch_count(batch_share(batch, ranks - 1, ranks).count, micro_batch);
  plan.accumulates = largest_share > plan.micro_batch;
  return plan;
}

std::int64_t largest_share(const Options& options, int ranks) {
  return batch_share(options.data.batch, 0, Mesh(options.mesh, 0, ranks).batch_ranks()).count;
}

bool allows_ranks(const Options& options, std::int64_t micro_batch, int ranks) {
  if (!options.run.reproducible) return true;
  if (options.data.batch % micro_batch != 0) return false;
  const std::vector<std::int64_t> counts = reproducible_batch_ranks(options, micro_batch, ranks);
  return std::find(counts.begin(), counts.end(), Mesh(options.mesh, 0, ranks).batch_ranks()) != counts.end();
}

bool shards_accumulated_gradients(const Options& options, int ranks) {
  const std::int64_t share = largest_share(options, ranks);
  return options.optimizer.cuts_gradients(ranks) &&
         (options.rollout.steps > 1 || micro_batch_count(share, options.data.micro_batch) > 1);
}

StepPlan make_step_plan(const Options& options, int rank, int ranks) {
  const std::int64_t micro_batch = options.data.micro_batch;
  const Mesh mesh(options.mesh, rank, ranks);
  StepPlan plan = make_step_plan(options.data.batch, micro_batch, mesh.batch_rank(), mesh.batch_ranks());
  plan.boxes = mesh.boxes();
  plan.sum_boxes = mesh.part().sum_boxes();
  if (shards_accumulated_gradients(options, ranks)) {
    if (options.rollout.steps > 1) {
      fail_input(errors::keys_conflict,
                 "optimizer.shard = \"gradients\" cannot accumulate the gradients of the {} applications of "
                 "rollout.steps; set optimizer.shard = \"state\"",
                 options.rollout.steps);
    }
    const std::int64_t share = largest_share(options, ranks);
    fail_input(errors::keys_conflict,
               "optimizer.shard = \"gradients\" cannot accumulate gradients over micro-batches, and with "
               "data.micro_batch = {} a rank of {} has {} in a step; set "
               "optimizer.shard = \"state\", or data.micro_batch to {} or more",
               micro_batch, ranks, micro_batch_count(share, micro_batch), share);
  }
  if (options.rollout.steps > 1) plan.accumulates = true;  // the backward passes of the copies
  if (!options.run.reproducible) return plan;
  if (!allows_ranks(options, micro_batch, ranks)) {
    const std::int64_t micro_batches = options.data.batch / micro_batch;
    if (mesh.boxes() > 1) fail_shared_samples(options, micro_batches, mesh);
    const std::vector<std::int64_t> counts = reproducible_ranks(micro_batches);
    fail_input(
        errors::not_reproducible,
        "run.reproducible: {} ranks cannot share the {} micro-batches of a step so that their sum has the "
        "bits of other rank counts; {} can{}",
        ranks, micro_batches, fmt::join(counts, ", "),
        counts.size() == 1 ? ". With a smaller data.micro_batch more can" : "");
  }
  plan.reproducible = true;
  plan.accumulates = true;  // the same types for every number of ranks
  return plan;
}

}  // namespace mylos
