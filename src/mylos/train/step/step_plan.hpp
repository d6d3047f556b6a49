// StepPlan: how the samples of a step are divided into ranks and micro-batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mylos/config/options.hpp"

namespace mylos {

struct StepPlan {
  std::int64_t batch = 0;        // samples of a step, over all ranks
  std::int64_t boxes = 1;        // ranks that share each sample (Mesh); a rank has a part of its samples
  std::int64_t sum_boxes = 1;    // of a rank's part, by which sums are taken (GridPart::sums)
  std::int64_t micro_batch = 0;  // samples of the largest micro-batch of any rank: what memory is planned for
  std::int64_t own_samples = 0;  // of this rank in a step
  std::int64_t micro_batches = 0;      // of this rank in a step
  std::int64_t max_micro_batches = 0;  // of any rank
  std::int64_t min_micro_batches = 0;  // of any rank
  bool accumulates = false;            // some rank has several micro-batches
  bool reproducible = false;           // a tree adds up the micro-batches of all ranks

  /// Returns the parts of samples of a step, each of which counts as a sample in sums over ranks.
  [[nodiscard]] std::int64_t parts() const { return batch * boxes; }
  /// Returns the samples of this rank's micro-batch `i` of a step, counted from 1.
  [[nodiscard]] std::int64_t samples_of(std::int64_t i) const {
    return std::clamp<std::int64_t>(own_samples - (i - 1) * micro_batch, 0, micro_batch);
  }
  /// Returns the leaves of that tree on a rank, at most; 0 without a tree.
  [[nodiscard]] std::int64_t tree_leaves() const { return reproducible ? max_micro_batches : 0; }
};

/// Returns the possible numbers of ranks of a reproducible run: powers of two that divide the number of
/// micro-batches of a step.
[[nodiscard]] std::vector<std::int64_t> reproducible_ranks(std::int64_t micro_batches);

/// `micro_batch` = 0 stands for a rank's whole local batch. `rank`, `ranks`: of those that share the batch.
/// Throws Error (bad_input) if there are more ranks than samples.
[[nodiscard]] StepPlan make_step_plan(std::int64_t batch, std::int64_t micro_batch, int rank, int ranks);

/// Returns the samples of a step of the rank with the most, of `ranks` ranks.
[[nodiscard]] std::int64_t largest_share(const Options& options, int ranks);

/// Whether `ranks` ranks can share a step. With run.reproducible they must share whole micro-batches of
/// `micro_batch` > 0 samples; ranks that share samples have one micro-batch each, because the tree over ranks
/// has the boxes of a sample inside the samples.
[[nodiscard]] bool allows_ranks(const Options& options, std::int64_t micro_batch, int ranks);

/// Whether a deck shards gradients although a rank has several micro-batches in a step, or a rollout several
/// backward passes. They would have to be added up after the reduction over ranks, with other bits than those
/// of a run without shards.
[[nodiscard]] bool shards_accumulated_gradients(const Options& options, int ranks);

/// Returns the plan of a deck that check_options() has accepted: with run.reproducible it has a micro-batch >
/// 0 that divides the batch. Throws Error (bad_input) if the deck does not allow `ranks` ranks; the message
/// names the numbers that it allows.
[[nodiscard]] StepPlan make_step_plan(const Options& options, int rank, int ranks);

}  // namespace mylos
