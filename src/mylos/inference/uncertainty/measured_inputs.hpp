// Measures the statistics by which Model::check_inputs() rates distances, in two passes over the training
// samples: moments, then distances.
//
// The samples are divided into segments, whose number is fixed. The sums of a segment are taken sample by
// sample, those of the segments one after the other: the result has the same bits on any number of ranks.
// Memory: inputs^2 / 2 doubles for each segment of a rank, and one double for a hundredth of the samples.
#pragma once

#include <cstdint>
#include <string>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/data/run/evaluation_data.hpp"
#include "mylos/inference/input_check.hpp"

namespace mylos {

/// All ranks. Returns the statistics of the inputs of the part `train`, in data units, without their range.
/// `path`: of the data, for messages. Throws Error (bad_input): not_measured of more than max_distance_inputs
/// inputs, too_little_data of fewer than two samples, and as EvaluationPass::next() does.
[[nodiscard]] InputStatistics measure_inputs(RankGroup& ranks, const EvaluationData& data,
                                             std::int64_t inputs, const std::string& path);

}  // namespace mylos
