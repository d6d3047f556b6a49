#include <cmath>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/margins/margin_block.hpp"

namespace mylos {
namespace {

/// Each margin is rounded to whole points; halves go to the even number.
MarginShape padded_by(const std::vector<double>& margins, const LayerInput& input) {
  MarginShape shape;
  shape.inner = require_grid(input, "pads");
  if (margins.empty())
    fail_input(errors::missing_key, "model.layers: layer '{}' needs 'margin', the width of its margins",
               input.layer);
  const std::array<double, 3> margin = along_axes(margins, 0, input, "margin");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t points = shape.inner.extent[axis];
    shape.before[axis] =
        static_cast<std::int64_t>(std::nearbyint(margin[axis] * static_cast<double>(points)));
    shape.outer[axis] = points + 2 * shape.before[axis];
  }
  return checked(shape, input, "pad");
}

/// Returns the middle of the input with the extents of `target`, the grid of the layer `like`. Of an odd
/// number of points to remove the last one comes from the end.
MarginShape cropped_to(const LayerInput& input, const std::string& like, const GridShape& target) {
  MarginShape shape;
  shape.outer = require_grid(input, "crops").extent;
  shape.inner = {.extent = target.extent, .channels = input.grid.channels};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t removed = shape.outer[axis] - target.extent[axis];
    if (removed < 0) {
      fail_input(errors::bad_layer,
                 "model.layers: layer '{}' cannot crop {} to the grid of '{}', which has {} points in {}; a "
                 "crop takes a smaller grid",
                 input.layer, describe(input.grid), like, target.extent[axis], axis_names[axis]);
    }
    shape.before[axis] = removed / 2;
  }
  return checked(shape, input, "crop");
}

void append_margins(GrowingChain& network, std::string_view kind, MarginChange change,
                    const MarginShape& shape, const PaddingKinds& edges = {}) {
  auto block = std::make_unique<MarginBlock>(
      MarginOptions{.name = network.name(),
                    .change = change,
                    .shape = shape,
                    .edges = edges,
                    .type = network.types().without_weights(network.name(), kind)});
  const GridShape output = block->output();
  network.append(std::move(block), output);
}

}  // namespace

void kinds::Pad::append_to(GrowingChain& network, const LayerOptions& /*layer*/) const {
  const LayerInput input = network.input();
  const MarginShape shape = padded_by(margin, input);
  const PaddingKinds kinds = padding_kinds(edges, input);
  static_cast<void>(checked(GridEdges{shape.inner, shape.before, kinds}, input, "pad"));
  append_margins(network, traits.name, MarginChange::pad, shape, kinds);
}

void kinds::Crop::append_to(GrowingChain& network, const LayerOptions& /*layer*/) const {
  if (like.empty()) network.refuse(errors::missing_key, "needs 'like', the layer whose grid it takes");
  const LayerOutput& target = network.output_of(like, "takes the grid of");
  if (target.axes == 0) network.refuse(errors::bad_layer, "'{}' gives a vector, not a grid", like);
  append_margins(network, traits.name, MarginChange::crop, cropped_to(network.input(), like, target.grid));
}

}  // namespace mylos
