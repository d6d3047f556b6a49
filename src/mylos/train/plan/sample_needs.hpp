// SampleNeeds: how many samples the layers of a network need in a micro-batch of a training step, and whether
// a partition of the step has them.
//
// Batch normalisation of a vector has one value of each channel per sample. Of a single sample the normalised
// value is 0: the layer gives its bias whatever its input is, and nothing before it learns.
#pragma once

#include <cstdint>
#include <string>

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// The largest needs of all layers, each with the name of its layer; 1: every sample will do.
struct SampleNeeds {
  std::int64_t own = 1;        // samples in each micro-batch of each rank
  std::int64_t together = 1;   // samples in the micro-batches that all ranks compute together
  std::string own_layer;       // normalises over the micro-batch of a rank
  std::string together_layer;  // normalises over the micro-batches of all ranks
};

[[nodiscard]] SampleNeeds sample_needs(const Chain& chain);

/// How the samples of a step are divided: as StepPlan and the readers of the data do it.
struct StepPartition {
  std::int64_t batch = 1;        // samples of a step, at least one per rank
  std::int64_t micro_batch = 0;  // as data.micro_batch: 0 is the local batch of a rank
  int ranks = 1;
};

/// Whether every micro-batch of the step has the samples that the layers need.
[[nodiscard]] bool has_enough_samples(const SampleNeeds& needs, const StepPartition& step);

/// Throws Error (bad_input) where one has not, with the layer, the micro-batch, and the values of the keys
/// that would do.
void require_enough_samples(const SampleNeeds& needs, const StepPartition& step);

/// The Error of samples that a program brings itself: `samples` on this rank, or on all ranks together.
[[nodiscard]] Error too_few_own_samples(const SampleNeeds& needs, std::int64_t samples);
[[nodiscard]] Error too_few_samples_together(const SampleNeeds& needs, std::int64_t samples);

}  // namespace mylos
