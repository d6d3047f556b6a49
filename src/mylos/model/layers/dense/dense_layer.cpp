#include <algorithm>

#include "mylos/base/errors/datasets.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/dense/dense.hpp"
#include "mylos/model/layers/gather/gather_block.hpp"

namespace mylos {
namespace {

/// Puts the points of all ranks together before a layer that reads them as a vector.
void gather_boxes(GrowingChain& network) {
  const GridShape box = network.input().grid;
  const GridPart& part = network.model().part;
  GatherOptions options;
  options.name = network.name() + ".gather";
  options.shape = {.inner = box, .outer = box.extent};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    options.shape.outer[axis] = part.whole_extent(axis, box.extent[axis]);
    options.shape.before[axis] = part.first_point(axis, options.shape.outer[axis]);
  }
  options.boxes = part.count();
  options.type = network.types().without_weights(network.name(), "linear");
  const GridShape whole = outer_grid(options.shape);
  network.append(std::make_unique<GatherBlock>(std::move(options)), whole);
  network.end_layer();  // the grid of this block: files of other programs order weights by it
}

}  // namespace

void kinds::Dense::append_to(GrowingChain& network, const LayerOptions& layer) const {
  if (network.input().axes > 0 && network.model().part.is_split()) gather_boxes(network);
  DenseOptions options;
  options.inputs = network.input().grid.columns();
  options.outputs = network.outputs_or_targets(layer.outputs);
  if (options.inputs > max_numbers / std::max<std::int64_t>(1, options.outputs)) {
    network.refuse(errors::too_large,
                   "has {} weights for each of {} outputs: more than the {} that a matrix may have",
                   options.inputs, options.outputs, max_numbers);
  }
  network.set_product(options, layer, "linear");
  const std::int64_t outputs = options.outputs;
  network.append(std::make_unique<mylos::Dense>(std::move(options)), {.channels = outputs}, 0);
}

}  // namespace mylos
