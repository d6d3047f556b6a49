// The shapes of kernels on grids, from what the deck says of a layer and the grid that it reads.
#pragma once

#include <string>
#include <vector>

#include "mylos/kernels/convolution/convolution_shape.hpp"
#include "mylos/kernels/grid/pooling.hpp"
#include "mylos/kernels/grid/upsample.hpp"
#include "mylos/model/layers.hpp"

namespace mylos {

/// What a layer reads.
struct LayerInput {
  std::string layer;  // its name, for messages
  GridShape grid;
  std::size_t axes = 0;  // of the grid, which lies along the last of the three; 0: a vector
};

/// 1 to 3 extents, then channels.
[[nodiscard]] GridShape grid_of(const std::vector<std::int64_t>& shape);

/// These throw Error (bad_input), naming the layer, where its input is no grid, its lists are not as long as
/// the grid has axes, or the shape is none.
[[nodiscard]] ConvolutionShape convolution_of(const LayerOptions& layer, const LayerInput& input);
[[nodiscard]] PoolShape pool_of(const LayerOptions& layer, const LayerInput& input);
[[nodiscard]] UpsampleShape upsampling_of(const LayerOptions& layer, const LayerInput& input);

/// Throws Error (bad_input) where 'norm_groups' does not fit the channels.
void require_groups(const LayerInput& input, std::int64_t groups);

/// Throws Error (bad_input) where layers make a sample's grid coarser by more than some extent of it, or by
/// what does not divide one: a level on the way up cannot have the points of that on the way down then.
void require_levels(const std::vector<LayerOptions>& layers, const std::vector<std::int64_t>& shape);

/// Dense and convolution compute their activation themselves where nothing comes between.
[[nodiscard]] bool has_fused_activation(const LayerOptions& layer);

/// Batch normalisation computes it in place.
[[nodiscard]] bool is_fused_with_norm(const LayerOptions& layer);

}  // namespace mylos
