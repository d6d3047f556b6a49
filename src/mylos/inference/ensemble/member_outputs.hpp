// The predictions of one member of an ensemble, from the outputs of its network.
#pragma once

#include <span>
#include <vector>

#include "mylos/data/feed/batch.hpp"
#include "mylos/inference/ensemble/uncertain_pass.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// Predictions [samples, member_width()].
struct MemberOutputs {
  std::vector<float> values;
  std::vector<float> variances;  // empty: the network predicts none
};

/// Returns the number of predictions for a sample.
[[nodiscard]] std::int64_t member_width(const Chain& chain);
/// Returns whether the network predicts variances.
[[nodiscard]] bool predicts_variances(const Chain& chain);
/// Reads predictions out of outputs [samples, chain.outputs()], which it changes.
void read_outputs(const Chain& chain, std::vector<float>& outputs, MemberOutputs& to);

/// Appends the answers of a batch, where there are any. `width`: targets of a sample.
void take_answers(const Batch& batch, std::int64_t width, std::vector<float>& targets,
                  std::vector<std::int32_t>& labels);

/// Returns the number of rounds in which every rank has read `samples` samples in batches of `piece`.
[[nodiscard]] std::int64_t rounds_of(std::int64_t samples, std::int64_t piece, int ranks);

}  // namespace mylos
