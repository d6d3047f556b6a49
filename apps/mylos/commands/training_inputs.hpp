// The statistics of a run's training inputs, which model files hold for Model::check_inputs().
#pragma once

#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/inference/input_check.hpp"

namespace mylos::app {

/// All ranks that have opened the checkpoint. Reads the training data that its deck names. Throws Error
/// (bad_input): missing_argument where it names none, data_mismatch where the file is another one by now,
/// not_measured of samples on a grid, wrong_format of tokens, and as measure_inputs() does. Starts Kokkos, if
/// it does not run, while it works.
[[nodiscard]] InputStatistics measure_training_inputs(const CheckpointReader& checkpoint);

/// "statistics of 3 inputs of 1000 training samples; ...". `names`: of the inputs, or empty.
[[nodiscard]] std::string describe_inputs(const InputStatistics& statistics,
                                          const std::vector<std::string>& names);

}  // namespace mylos::app
