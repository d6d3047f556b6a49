// The calibration of rollouts: their errors at each lead time on trajectories that were held out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "commands/open_model.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/rollout/stored_trajectories.hpp"
#include "mylos/inference/uncertainty/calibration.hpp"

namespace mylos::app {

struct CalibratedRollouts {
  ConformalCalibration calibration;  // without the split
  std::int64_t trajectories = 0;     // in which the rollouts begin
};

/// The rollouts of a calibration.
struct CalibrationRollouts {
  std::int64_t steps = 0;
  StoredTrajectories trajectories;
};

/// All ranks. Opens rollouts of `steps` steps in the open files, one from every level that has the levels of
/// the truth after it (or every `every`-th, of the deck); nothing if there are no steps. Throws Error
/// (bad_input) on all ranks where they are too few for the coverage.
[[nodiscard]] std::optional<CalibrationRollouts> open_calibration_rollouts(const OpenModel& open,
                                                                           std::int64_t steps,
                                                                           double coverage);

/// All ranks. Makes these rollouts of a network, or of the mean of several, and returns the quantile of the
/// largest error of each channel at each lead time. `networks`: in pieces of `piece` samples. Throws Error
/// (failed) on all ranks where a state is inf or NaN.
[[nodiscard]] CalibratedRollouts calibrate_rollouts(const OpenModel& open,
                                                    const CalibrationRollouts& rollouts,
                                                    std::span<RowInference* const> networks,
                                                    std::int64_t piece, double coverage);

}  // namespace mylos::app
