// The calibration of the mean of an ensemble, which `mylos calibrate --ensemble` stores in the files of all
// of its networks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/inference/ensemble/ensemble_pass.hpp"
#include "mylos/inference/uncertainty/calibration.hpp"

namespace mylos {

struct EnsembleCalibration {
  std::optional<ConformalCalibration> found;
  bool is_of_others = false;  // a file has one, but these are not all the networks that it is of
};

/// All ranks. `members`: empty where there is no ensemble. `of`: ensemble_predictions or ensemble_rollouts.
/// Throws Error (damaged) where a file's parts contradict each other.
[[nodiscard]] EnsembleCalibration read_ensemble_calibration(RankGroup& ranks,
                                                            const std::vector<EnsembleMember>& members,
                                                            Calibrated of);

}  // namespace mylos
