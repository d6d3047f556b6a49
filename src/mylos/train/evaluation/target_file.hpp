// targets.json: the R2 of each target in a run's last evaluation.
//
//   {format, version, step, targets: [name, ...], parts: {validation|test: [R2, ...]}}
//
// null where a target has none: it is constant, or a prediction of it is not finite.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mylos/data/run/run_data.hpp"

namespace mylos {

/// Of more than these, as of the points of a grid, there is no such file.
inline constexpr std::int64_t max_targets_of_file = 200;

/// Of at least one part of the data. Targets without a name go by their numbers. Throws Error where it cannot
/// be written; an older one stays as it is then.
void write_target_file(const std::string& path, std::int64_t step, std::vector<std::string> names,
                       std::span<const std::pair<DataPart, std::vector<double>>> parts);

}  // namespace mylos
