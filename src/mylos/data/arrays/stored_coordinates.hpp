// StoredCoordinates: where the points and levels of the files of a store lie, as far as they state it.
//
// Windows count levels and networks count points: a missing level, another step of time or an axis in reverse
// order would be computed with as if nothing were.
#pragma once

#include <string>

#include "mylos/data/arrays/file_table.hpp"
#include "mylos/data/coordinates/grid_axes.hpp"
#include "mylos/data/coordinates/level_step.hpp"

namespace mylos {

/// Those of the first file. Empty where the options ignore them, or the samples are points.
struct StoredCoordinates {
  GridAxes axes = {};
  LevelStep level_step = {};

  /// Takes over those of the first file, and compares those of each further one. `path`: of the file, which
  /// is open. Throws Error (data_mismatch) as require_same_axes() and require_same_step() do, and where time
  /// does not increase, or a step is longer than one and a half of the usual one, or shorter than a half.
  void add(const FileTable& files, const OpenArrayFile& file, const std::string& path,
           const ArrayOptions& options);
};

}  // namespace mylos
