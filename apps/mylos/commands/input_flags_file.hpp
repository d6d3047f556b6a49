// The file of mylos predict --flags: which samples are unlike those of the training.
//
// A line for each sample: its number from 0, its flag (the bits of input_flag, as Model::check_inputs() sets
// them, with the limit of the file), the number of its inputs outside their range in training, and its
// Mahalanobis distance, empty if the file of the network has no statistics for it.
#pragma once

#include <string>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/inference/opened_network.hpp"

namespace mylos::app {

/// All ranks. Compares the samples of the part `train` of the opened data, and writes the file on rank 0.
/// Returns a line on the result: "flags.csv: 3 of 100 samples are flagged". Throws Error on all ranks, also
/// where nothing is known of the training's inputs.
[[nodiscard]] std::string write_input_flags(RankGroup& ranks, const OpenedNetwork& opened,
                                            const std::string& path);

}  // namespace mylos::app
