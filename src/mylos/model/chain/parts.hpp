// The part of a sample's grid that a rank computes (ModelOptions::part): what a network must be for that, and
// its grid.
//
// Networks that no rank can compute in parts are refused, with the layer and the reason: by default a kind of
// layer or loss is one of those (LayerTraits::takes_parts, LossTraits::is_mean).
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/grid_part.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

struct LayerInput;

/// Returns the box of a sample's grid. Throws Error (bad_input), with the numbers of boxes that are right, if
/// the grid cannot be divided into such boxes.
[[nodiscard]] GridShape box_of(const GridShape& grid, std::size_t axes, const GridPart& part);

/// Throws Error (bad_input) if a rank cannot compute a part of such a model's samples, whatever the layers
/// are.
void require_parts(const ModelOptions& model);

/// Throws Error (bad_input) if a rank cannot compute its part of a layer of this kind with this input.
void require_parts(const LayerOptions& layer, const LayerInput& input, const GridPart& part);

/// Throws Error (bad_input) if the loss of outputs on a grid is not the mean of those of its boxes.
void require_parts_of_loss(const ModelOptions& model);

/// Throws Error (bad_input) unless the boxes of each block's output make up its grid in the chain of the
/// whole sample.
void require_tiles(const Chain& box, const Chain& whole, const GridPart& part);

/// Returns the largest exchanges of a block in passes of `rows` rows, or of all blocks.
[[nodiscard]] SampleExchangeSizes sample_exchanges(const Block& block, std::int64_t rows);
[[nodiscard]] SampleExchangeSizes sample_exchanges(const Chain& chain, std::int64_t rows);

}  // namespace mylos
