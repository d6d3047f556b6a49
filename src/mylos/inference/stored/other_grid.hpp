// A trained network on samples of a grid other than the one that it was trained on.
//
// The weights stay the same: convolutions, spectral convolutions, pools and norms of channels have none that
// depend on the grid's points. A dense layer that reads a grid has, and a network with one stays on its grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mylos/inference/stored/stored_network.hpp"

namespace mylos {

/// Throws Error where there is too little memory for a network on another grid: its chain, and the bytes of
/// the scaling of its inputs and targets, which are not allocated yet.
using RequireMemory = std::function<void(const Chain& chain, std::size_t scaling_bytes)>;

/// Makes the network, whose chain is set, read samples of `shape`: the extents of a grid, then the channels;
/// empty: those that it was trained on. Throws Error (bad_input) if the network reads no grid, if the grid
/// has another number of axes or channels, if a layer's weights depend on the grid or the layer cannot work
/// on it (the message names it), and if the samples were not scaled by channel. `require_memory` is called
/// before memory is taken for each point of the grid.
void move_to_grid(StoredNetwork& network, const std::vector<std::int64_t>& shape,
                  const RequireMemory& require_memory = {});

/// Returns "64 x 64 x 3".
[[nodiscard]] std::string text_of_shape(const std::vector<std::int64_t>& shape);

}  // namespace mylos
