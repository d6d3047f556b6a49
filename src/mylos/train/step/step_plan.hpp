// StepPlan: how the samples of a step are divided into ranks and micro-batches.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mylos/config/options.hpp"
#include "mylos/data/feed/share.hpp"

namespace mylos {

struct StepPlan {
  std::int64_t batch = 0;        // samples of a step, over all ranks
  std::int64_t micro_batch = 0;  // samples of the largest micro-batch of any rank: what memory is planned for
  std::int64_t own_samples = 0;  // of this rank in a step
  std::int64_t micro_batches = 0;      // of this rank in a step
  std::int64_t max_micro_batches = 0;  // of any rank
  std::int64_t min_micro_batches = 0;  // of any rank
  bool accumulates = false;            // some rank has several micro-batches
  bool reproducible = false;           // a tree adds up the micro-batches of all ranks
};

/// Returns the possible numbers of ranks of a reproducible run: powers of two that divide the number of
/// micro-batches of a step.
[[nodiscard]] inline std::vector<std::int64_t> reproducible_ranks(std::int64_t micro_batches) {
  std::vector<std::int64_t> counts;
  for (std::int64_t ranks = 1; micro_batches % ranks == 0; ranks *= 2) counts.push_back(ranks);
  return counts;
}

/// `micro_batch` = 0 stands for a rank's whole local batch. Throws Error (bad_input) if there are more ranks
/// than samples.
[[nodiscard]] inline StepPlan make_step_plan(std::int64_t batch, std::int64_t micro_batch, int rank,
                                             int ranks) {
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

/// Whether `ranks` ranks can share a step. With run.reproducible they must share whole micro-batches of
/// `micro_batch` > 0 samples.
[[nodiscard]] inline bool allows_ranks(const Options& options, std::int64_t micro_batch, int ranks) {
  if (!options.run.reproducible) return true;
  if (options.data.batch % micro_batch != 0) return false;
  const std::vector<std::int64_t> counts = reproducible_ranks(options.data.batch / micro_batch);
  return std::find(counts.begin(), counts.end(), ranks) != counts.end();
}

/// Whether a deck shards gradients although a rank has several micro-batches in a step, or a rollout several
/// backward passes. They would have to be added up after the reduction over ranks, with other bits than those
/// of a run without shards.
[[nodiscard]] inline bool cuts_gradients_too_early(const Options& options, int ranks) {
  const std::int64_t share = batch_share(options.data.batch, 0, ranks).count;
  return options.optimizer.cuts_gradients(ranks) &&
         (options.rollout.steps > 1 || micro_batch_count(share, options.data.micro_batch) > 1);
}

/// Returns the plan of a deck that check_options() has accepted: with run.reproducible it has a micro-batch >
/// 0 that divides the batch. Throws Error (bad_input) if the deck does not allow `ranks` ranks; the message
/// names the numbers that it allows.
[[nodiscard]] inline StepPlan make_step_plan(const Options& options, int rank, int ranks) {
  const std::int64_t micro_batch = options.data.micro_batch;
  StepPlan plan = make_step_plan(options.data.batch, micro_batch, rank, ranks);
  if (cuts_gradients_too_early(options, ranks)) {
    if (options.rollout.steps > 1) {
      fail_input(ErrorId::keys_conflict,
                 "optimizer.shard = \"gradients\" cannot accumulate the gradients of the {} applications of "
                 "rollout.steps; set optimizer.shard = \"state\"",
                 options.rollout.steps);
    }
    const std::int64_t share = batch_share(options.data.batch, 0, ranks).count;
    fail_input(ErrorId::keys_conflict,
               "optimizer.shard = \"gradients\" cannot accumulate gradients over micro-batches, and with "
               "data.micro_batch = {} a rank of {} has {} in a step; set "
               "optimizer.shard = \"state\", or data.micro_batch to {} or more",
               micro_batch, ranks, micro_batch_count(share, micro_batch), share);
  }
  if (options.rollout.steps > 1) plan.accumulates = true;  // the backward passes of the copies
  if (!options.run.reproducible) return plan;
  if (!allows_ranks(options, micro_batch, ranks)) {
    const std::int64_t micro_batches = options.data.batch / micro_batch;
    const std::vector<std::int64_t> counts = reproducible_ranks(micro_batches);
    fail_input(
        ErrorId::not_reproducible,
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
