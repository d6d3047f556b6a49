// targets.json: the R2 of each target in a run's last evaluation.
//
//   {format, version, step, targets: [name, ...], parts: {validation|test: [R2, ...]}}
//
// R2 is null for a target that is constant, or that has a prediction which is not finite.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mylos/data/run/data_part.hpp"

namespace mylos {

/// The maximum number of targets of a file. With more targets, such as the points of a grid, no file is
/// written.
inline constexpr std::int64_t max_targets_of_file = 200;

/// Writes the R2 of at least one part of the data. Targets without a name are named by their numbers. Throws
/// Error if the file cannot be written; an older file is then unchanged.
void write_target_file(const std::string& path, std::int64_t step, std::vector<std::string> names,
                       std::span<const std::pair<DataPart, std::vector<double>>> parts);

}  // namespace mylos
