// How well the uncertainties of a run's network hold, as `mylos eval RUN` measured it last.
//
//   uncertainty.json   {format, version, step, split, samples, coverage: [[nominal, observed], ...],
//                       calibration_error, rms_calibration_error, miscalibration_area, sharpness, crps}
#pragma once

#include <cstdint>
#include <string>

#include "mylos/inference/uncertainty/uncertainty_measures.hpp"

namespace mylos {

/// Writes the file of a result with predicted deviations. `split`: of the data, or a file's name. Throws
/// Error if it cannot be written; an older file is then unchanged.
void write_uncertainty_file(const std::string& path, std::int64_t step, const std::string& split,
                            const UncertaintyResult& result);

}  // namespace mylos
