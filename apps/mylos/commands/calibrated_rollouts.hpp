// The calibration of rollouts: their errors at each lead time on trajectories that were held out.
#pragma once

#include <string>

#include "commands/open_model.hpp"
#include "mylos/inference/rollout/stored_trajectories.hpp"
#include "mylos/inference/uncertainty/calibration.hpp"

namespace mylos::app {

struct CalibratedRollouts {
  ConformalCalibration calibration;  // without the split
  std::int64_t trajectories = 0;     // in which the rollouts begin
};

/// Opens the rollouts of `steps` steps in the open files, one from every level that has the levels of the
/// truth after it (or every `every`-th, of the deck). Throws Error (bad_input) where they are too few for the
/// coverage.
[[nodiscard]] StoredTrajectories open_calibration_rollouts(const OpenModel& open, std::int64_t steps,
                                                           double coverage);

/// All ranks. Makes these rollouts, and returns the quantile of the largest error of each channel at each
/// lead time. Throws Error (failed) on all ranks where a state is inf or NaN.
[[nodiscard]] CalibratedRollouts calibrate_rollouts(const OpenModel& open,
                                                    const StoredTrajectories& trajectories,
                                                    std::int64_t steps, double coverage);

}  // namespace mylos::app
