// The layout of samples that are boxes of others.
#pragma once

#include <cstdint>
#include <vector>

#include "mylos/base/grid_part.hpp"
#include "mylos/data/arrays/layout/sample_layout.hpp"

namespace mylos {

/// Returns SampleLayout::own_strides of an array on `own` of the grid, where axes that it lacks have the
/// extent 1.
[[nodiscard]] std::vector<std::int64_t> own_strides_of(const std::vector<std::int64_t>& own,
                                                       const std::vector<std::int64_t>& grid);

/// Returns the layout with the same channels on the points of the box alone.
[[nodiscard]] SampleLayout layout_of_box(SampleLayout layout, const GridPart& part);

}  // namespace mylos
