// The units of which the axes of all grids of a network consist, so that boxes of them divide each grid
// (GridPart::units).
#pragma once

#include <cstdint>
#include <vector>

#include "mylos/model/options.hpp"
#include "mylos/precision/options.hpp"

namespace mylos {

/// Returns the units of each axis of a sample's grid if `space`, boxes along each axis, divides the grids of
/// the model's network into boxes that differ; 0 for an axis whose boxes are equal. Empty if all boxes are
/// equal, or if there are no such boxes, which make_chain() of a part then refuses.
[[nodiscard]] std::vector<std::int64_t> grid_units(const ModelOptions& model,
                                                   const PrecisionOptions& precision,
                                                   const std::vector<std::int64_t>& space);

}  // namespace mylos
