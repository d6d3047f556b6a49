// NAME.errors.nc: the measures of a rollout by lead time and variable, as NetCDF-4 has them.
//
//   lead_time      [lead_time]            levels from the newest one that the rollout begins with
//   lead_duration  [lead_time]            the same as a time; only if the data state their times
//   variable       [variable]             names
//   units          [variable]             their units; only if the data state some
//   starts         [lead_time]            the starts that have a truth, over which the means are
//   rmse, ...      [lead_time, variable]  those of score_tables(), float64; NaN: not known
//   spectrum, truth_spectrum, error_spectrum  [lead_time, variable, wavenumber]  energies, float32
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mylos/inference/scores/step_spectrum.hpp"
#include "mylos/inference/scores/variable_scores.hpp"

namespace mylos {

/// What the axes of the measures are.
struct ScoreAxes {
  std::vector<std::string> variables = {};
  std::vector<std::string> units = {};    // of each variable; "" where the data state none
  std::vector<std::int64_t> levels = {};  // of each step, from the start
  double level_duration = 0;              // 0: not known
  std::string duration_unit = {};         // "hours"
};

/// Writes a file. Throws Error if it cannot be written; an older file is then unchanged. `checkpoint`: by
/// which the fields were predicted. `spectra`: of the start, then of each step; empty: none.
void write_score_file(const std::string& path, const StepScores& scores, const ScoreAxes& axes,
                      std::span<const StepSpectrum> spectra, const std::string& checkpoint);

}  // namespace mylos
