// The shapes of kernels on grids, derived from a layer of the deck and the grid that the layer reads.
#pragma once

#include <string>
#include <vector>

#include "mylos/kernels/convolution/convolution_shape.hpp"
#include "mylos/kernels/grid/margins.hpp"
#include "mylos/kernels/grid/pooling.hpp"
#include "mylos/kernels/grid/upsample.hpp"
#include "mylos/kernels/spectral/spectral_shape.hpp"
#include "mylos/model/layers.hpp"

namespace mylos {

/// The input of a layer.
struct LayerInput {
  std::string layer;  // the layer's name, for messages
  GridShape grid;
  std::size_t axes = 0;  // number of axes; the grid uses the last ones of the three; 0: a vector
};

/// Returns the grid of a shape of 1 to 3 extents and the channels.
[[nodiscard]] GridShape grid_of(const std::vector<std::int64_t>& shape);

/// These functions throw Error (bad_input) and name the layer if its input is not a grid, if its lists do not
/// have one entry per axis, or if the shape is not valid.
[[nodiscard]] ConvolutionShape convolution_of(const LayerOptions& layer, const LayerInput& input);
[[nodiscard]] SpectralShape spectral_of(const LayerOptions& layer, const LayerInput& input);
[[nodiscard]] PoolShape pool_of(const LayerOptions& layer, const LayerInput& input);
[[nodiscard]] UpsampleShape upsampling_of(const LayerOptions& layer, const LayerInput& input);
/// Each margin is rounded to whole points; halves go to the even number.
[[nodiscard]] MarginShape padded_by(const LayerOptions& layer, const LayerInput& input);
/// Returns the middle of the input with the extents of `target`, the grid of the layer `like`. Of an odd
/// number of points to remove the last one comes from the end.
[[nodiscard]] MarginShape cropped_to(const LayerInput& input, const std::string& like,
                                     const GridShape& target);

/// Throws Error (bad_input) if 'norm_groups' does not divide the channels.
void require_groups(const LayerInput& input, std::int64_t groups);

/// Throws Error (bad_input) if the layers reduce the grid by more than one of its extents, or by a factor
/// that does not divide an extent: a decoder level could then not have the points of its encoder level.
void require_levels(const std::vector<LayerOptions>& layers, const std::vector<std::int64_t>& shape);

/// Returns whether the layer's block computes the activation: dense and conv do if nothing lies between.
[[nodiscard]] bool has_fused_activation(const LayerOptions& layer);

/// Returns whether batch normalisation computes the activation in place.
[[nodiscard]] bool is_fused_with_norm(const LayerOptions& layer);

}  // namespace mylos
