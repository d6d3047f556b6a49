// The normalizer of the boxes of samples.
#pragma once

#include <cstdint>
#include <vector>

#include "mylos/base/grid_part.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"

namespace mylos {

/// Returns the scaling of those columns of complete samples that lie in the box. `grid`: of the samples,
/// extents, then channels of the inputs. `whole_truth`: targets are those of complete samples. The range of
/// the inputs is that of the complete samples. Throws Error (bad_value) that names mesh.space unless boxes
/// divide the grid.
[[nodiscard]] Normalizer part_of(const Normalizer& whole, const std::vector<std::int64_t>& grid,
                                 const GridPart& part, bool whole_truth = false);

}  // namespace mylos
