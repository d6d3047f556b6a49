// The coordinates of levels in a file of fields, of which the data have only the first ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mylos/data/arrays/array_store.hpp"

namespace mylos {

/// Returns the coordinate at an index that may lie beyond the last one, `distance` apart.
[[nodiscard]] double coordinate_at(const std::vector<double>& values, std::int64_t index, double distance);

/// Returns the times of levels, counted from 0 in the first file of `of`, in the units of its axis of time;
/// nothing if one beyond the last level is not known. `step`: of the levels of the training.
[[nodiscard]] std::optional<std::vector<double>> times_of(const AxisCoordinates& axis, const ArrayStore& of,
                                                          std::span<const std::int64_t> levels,
                                                          const LevelStep& step);

}  // namespace mylos
