// What `mylos calibrate` does alike for a network and for the mean of an ensemble: which networks and samples
// it takes, and what it makes of their scores.
#pragma once

#include <optional>
#include <string>

#include "commands.hpp"
#include "commands/calibrated_rollouts.hpp"
#include "launch/standard_output.hpp"
#include "mylos/data/run/data_part.hpp"
#include "mylos/inference/opened_network.hpp"
#include "mylos/inference/uncertainty/conformal_scores.hpp"

namespace mylos::app {

/// Throws Error (bad_argument) for options that contradict each other.
void require_calibration(const CalibrateArguments& arguments);

/// The samples and the scaling of a training are in its run alone. Throws Error (weights_only) for a model
/// file.
void refuse_model_file(const std::string& path);

/// Throws Error (bad_input) for networks that have no such intervals, and for outputs that cannot be written.
void require_calibratable(const StoredNetwork& network, const CalibrateArguments& arguments,
                          const std::string& output);

/// All ranks. Throws Error (bad_input) where the samples are among those of the training, or are too few.
void require_held_out(const OpenedNetwork& opened, const CalibrateArguments& arguments, DataPart part,
                      RankGroup& ranks);

/// All ranks. Returns no scores yet, with room for those of `samples` samples of this rank. Throws Error
/// (does_not_fit).
[[nodiscard]] ConformalScores room_for_scores(const TargetShape& shape, std::int64_t samples,
                                              RankGroup& ranks);

/// All ranks. Returns the calibration by the scores of all samples of the part. Throws Error where they are
/// not finite or, with missing targets, too few.
[[nodiscard]] ConformalCalibration calibration_by(ConformalScores& scores, const OpenedNetwork& opened,
                                                  const CalibrateArguments& arguments, RankGroup& ranks);

/// Prints a line for each target or channel: of single predictions, and of the last step of rollouts.
void print_intervals(const Output& output, const StoredNetwork& network,
                     const ConformalCalibration& calibration,
                     const std::optional<CalibratedRollouts>& rollouts);

}  // namespace mylos::app
