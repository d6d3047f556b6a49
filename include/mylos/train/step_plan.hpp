// StepPlan: how the samples of a step fall on ranks and micro-batches.
#pragma once

#include <algorithm>
#include <cstdint>

#include "mylos/data/share.hpp"

namespace mylos {

struct StepPlan {
  std::int64_t batch = 0;        // samples of a step, over all ranks
  std::int64_t micro_batch = 0;  // samples of the largest micro-batch of any rank: what memory is planned for
  std::int64_t own_samples = 0;  // of this rank in a step
  std::int64_t micro_batches = 0;  // of this rank in a step
  bool accumulates = false;        // some rank has several micro-batches
};

/// Throws Error (bad_input) if there are more ranks than samples. `micro_batch` = 0: a rank's whole share.
[[nodiscard]] inline StepPlan make_step_plan(std::int64_t batch, std::int64_t micro_batch, int rank,
                                             int ranks) {
  const std::int64_t largest_share = batch_share(batch, 0, ranks).count;
  StepPlan plan;
  plan.batch = batch;
  plan.micro_batch = micro_batch_samples(largest_share, micro_batch);
  plan.own_samples = batch_share(batch, rank, ranks).count;
  plan.micro_batches = micro_batch_count(plan.own_samples, micro_batch);
  plan.accumulates = largest_share > plan.micro_batch;
  return plan;
}

}  // namespace mylos
