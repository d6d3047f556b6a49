// The statistics of training inputs in a model file, beside /input_range:
//
//   /inputs/mean                 float64 [inputs], in data units like all of it
//   /inputs/deviation            float64 [inputs], of n - 1; 0: constant in training
//   /inputs/inverse_covariance   float64 [inputs, inputs], symmetric, positive definite but for constant
//   inputs /inputs/distances            float64 [3]: the quantiles 0.99 and 0.999 of the training samples'
//   distances,
//                                and the largest
//   /inputs/samples, /inputs/ridge   int64, float64
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/inference/input_check.hpp"

namespace mylos {

/// What a model needs of the inputs that it was trained on.
struct KnownInputs {
  InputStatistics statistics;
  std::vector<double> factor;  // distance_factor() of the inverse covariance
};

/// Adds it to a model file, if there are statistics for distances. The state points into `statistics`.
void add_input_statistics(CheckpointState& state, InputStatistics& statistics);

/// All ranks. Returns what the file has, possibly nothing. `range`: what it has of that. Throws Error
/// (bad_input): damaged where its parts contradict each other or are not of samples of `shape`, where a
/// number is not finite, and where the inverse covariance is not symmetric and positive definite.
[[nodiscard]] KnownInputs read_input_statistics(const CheckpointReader& reader, const InputRange& range,
                                                const std::vector<std::int64_t>& shape);

}  // namespace mylos
