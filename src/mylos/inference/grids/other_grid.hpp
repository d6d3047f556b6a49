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

#include "mylos/data/files/normalizer.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// A network and how its samples are scaled.
struct NetworkOnGrid {
  ModelOptions model;  // of a chain; its sizes are set
  Chain chain;
  Normalizer normalizer;
};

/// Throws Error where there is too little memory for a network on another grid: its chain, and the bytes of
/// the scaling of its inputs and targets, which are not allocated yet.
using RequireMemory = std::function<void(const Chain& chain, std::size_t scaling_bytes)>;

/// Returns the network, which was trained on samples of `trained.model.shape`, for samples of `shape`: the
/// extents of the grid, then the channels. `path`: the network's file, for messages. Throws Error (bad_input)
/// if the network reads no grid, if the grid has another number of axes or channels, if a layer's weights
/// depend on the grid or the layer cannot work on it (the message names it), and if the samples were not
/// scaled by channel. `require_memory` is called before memory is taken for each point of the grid.
[[nodiscard]] NetworkOnGrid on_other_grid(const NetworkOnGrid& trained, const PrecisionOptions& precision,
                                          const std::vector<std::int64_t>& shape, const std::string& path,
                                          const RequireMemory& require_memory = {});

/// Returns the count of numbers in a sample of this shape; 1 for none. Throws Error (bad_input), with `what`,
/// if they are too many.
[[nodiscard]] std::int64_t size_of_shape(const std::vector<std::int64_t>& shape, const char* what);

/// Returns "64 x 64 x 3".
[[nodiscard]] std::string text_of_shape(const std::vector<std::int64_t>& shape);

}  // namespace mylos
