// SampleNeeds: the numbers of samples that the layers of a network need in a micro-batch of a training step,
// and the check of a step's partition.
//
// Batch normalisation of a vector has one value per channel and sample. The normalised value of a single
// sample is 0, so that the layer returns its bias for any input, and no layer before it learns.
#pragma once

#include <cstdint>
#include <string>

#include "mylos/base/error.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// The maximum needs over all layers, each with the name of its layer; 1: any number is enough.
struct SampleNeeds {
  std::int64_t own = 1;        // samples in each micro-batch of each rank
  std::int64_t together = 1;   // samples in the micro-batches that all ranks compute together
  std::string own_layer;       // normalises over the micro-batch of a rank
  std::string together_layer;  // normalises over the micro-batches of all ranks
};

[[nodiscard]] SampleNeeds sample_needs(const Chain& chain);

/// The division of a step's samples, as StepPlan and the data readers do it.
struct StepPartition {
  std::int64_t batch = 1;        // samples of a step, at least one per rank
  std::int64_t micro_batch = 0;  // as data.micro_batch: 0 is the local batch of a rank
  int ranks = 1;
};

/// Returns whether every micro-batch of the step has the samples that the layers need.
[[nodiscard]] bool has_enough_samples(const SampleNeeds& needs, const StepPartition& step);

/// Throws Error (bad_input) if a micro-batch has too few samples. The message names the layer, the
/// micro-batch, and sufficient values of the keys.
void require_enough_samples(const SampleNeeds& needs, const StepPartition& step);

/// Return the Error for samples that a program provides: `samples` on this rank, or on all ranks together.
[[nodiscard]] Error too_few_own_samples(const SampleNeeds& needs, std::int64_t samples);
[[nodiscard]] Error too_few_samples_together(const SampleNeeds& needs, std::int64_t samples);

}  // namespace mylos
