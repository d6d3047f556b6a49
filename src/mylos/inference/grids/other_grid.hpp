// A trained network on samples of a grid other than the one that it was trained on.
//
// The weights stay the same: convolutions, spectral convolutions, pools and norms of channels have none that
// depend on the grid's points. A dense layer that reads a grid has, and a network with one stays on its grid.
#pragma once

#include <cstdint>
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

/// Returns the network, which was trained on samples of `trained.model.shape`, for samples of `shape`: the
/// extents of the grid, then the channels. `path`: the network's file, for messages. Throws Error (bad_input)
/// if the network reads no grid, if the grid has another number of axes or channels, if a layer's weights
/// depend on the grid or the layer cannot work on it (the message names it), and if the samples were not
/// scaled by channel.
[[nodiscard]] NetworkOnGrid on_other_grid(const NetworkOnGrid& trained, const PrecisionOptions& precision,
                                          const std::vector<std::int64_t>& shape, const std::string& path);

/// Returns the count of numbers in a sample of this shape; 1 for none. Throws Error (bad_input), with `what`,
/// if they are too many.
[[nodiscard]] std::int64_t size_of_shape(const std::vector<std::int64_t>& shape, const char* what);

/// Returns "64 x 64 x 3".
[[nodiscard]] std::string text_of_shape(const std::vector<std::int64_t>& shape);

}  // namespace mylos
