// StoredCoordinates: where the points and levels of the files of a store lie, as far as they state it.
//
// Windows count levels and networks count points: a missing level, another step of time or an axis in reverse
// order would be computed with as if nothing were.
#pragma once

#include <string>
#include <vector>

#include "mylos/data/arrays/files/file_table.hpp"
#include "mylos/data/arrays/layout/window_index.hpp"
#include "mylos/data/coordinates/grid_axes.hpp"
#include "mylos/data/coordinates/level_step.hpp"

namespace mylos {

/// Those of the first file. Empty where the options ignore them, or the samples are points.
struct StoredCoordinates {
  GridAxes axes = {};
  LevelStep level_step = {};
  std::string axes_from = {};  // the first file that states some of them
  std::string step_from = {};
  std::vector<LevelTimes> times = {};  // of each file; empty of one that states none, whatever the options

  /// Takes over those of the first file, and compares those of each further one. `path`: of the file, which
  /// is open. Returns the levels that follow each other in time, a run for each part of the file between two
  /// irregular steps: where time does not increase, or by more than one and a half of the usual step, or less
  /// than a half. Throws Error (data_mismatch) as require_same_axes() and require_same_step() do, and for
  /// irregular steps that the options do not allow, or (bad_dataset) for an unknown calendar.
  [[nodiscard]] std::vector<LevelRun> add(const FileTable& files, const OpenArrayFile& file,
                                          const std::string& path, const ArrayOptions& options);

  [[nodiscard]] std::int64_t memory_bytes() const {
    std::int64_t bytes = 0;
    for (const LevelTimes& of : times)
      bytes += static_cast<std::int64_t>(sizeof of + of.instants.size() * sizeof(Instant));
    return bytes;
  }
};

}  // namespace mylos
