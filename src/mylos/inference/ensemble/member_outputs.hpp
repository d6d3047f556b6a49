// The predictions of one member of an ensemble, from the outputs of its network.
#pragma once

#include <span>
#include <vector>

#include "mylos/data/feed/batch.hpp"
#include "mylos/inference/ensemble/uncertain_pass.hpp"
#include "mylos/inference/infer.hpp"

namespace mylos {

/// Predictions [samples, chain.outputs()].
struct MemberOutputs {
  std::vector<float> values;
  std::vector<float> deviations;  // standard deviations; empty: the network computes none
};

/// Reads the predictions of the last forward(). `floats`: device memory for the outputs of these samples.
void read_predictions(const StepContext& step, const ForwardPass& model, const Tensor& floats,
                      MemberOutputs& to);

/// Appends the ground truth of a batch, if it has any. `width`: targets of a sample.
void append_truth(const Batch& batch, std::int64_t width, std::vector<float>& targets,
                  std::vector<std::int32_t>& labels);

/// Returns the number of rounds in which every rank has read `samples` samples in batches of `piece`.
[[nodiscard]] std::int64_t rounds_of(std::int64_t samples, std::int64_t piece, int ranks);

}  // namespace mylos
