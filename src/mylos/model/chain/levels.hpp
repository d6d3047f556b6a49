// The levels of a network whose layers make the grid of a sample coarser and finer again.
#pragma once

#include <cstdint>
#include <vector>

#include "mylos/model/layers.hpp"

namespace mylos {

/// Throws Error (bad_input) if the layers reduce the grid by more than one of its extents, or by a factor
/// that does not divide an extent: a decoder level could then not have the points of its encoder level.
void require_levels(const std::vector<LayerOptions>& layers, const std::vector<std::int64_t>& shape);

}  // namespace mylos
