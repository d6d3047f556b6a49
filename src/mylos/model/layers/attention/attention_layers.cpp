#include "mylos/base/errors/combinations.hpp"
#include "mylos/kernels/convolution/convolution.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/attention/point_attention.hpp"
#include "mylos/model/layers/attention/positions_block.hpp"

namespace mylos {
namespace {

/// Positions are often those of patches: a convolution whose kernel is its stride. Patches that do not divide
/// the grid would leave its last points out.
void require_whole_patches(const GrowingChain& network) {
  const Block* const before = network.last_block();
  if (before == nullptr || before->convolution() == nullptr) return;
  const ConvolutionShape& patches = before->convolution()->shape();
  if (patches.transposed || patches.kernel != patches.stride || patches.padding != Extents{0, 0, 0}) return;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (patches.input.extent[axis] % patches.stride[axis] == 0) continue;
    network.refuse(
        errors::bad_layer,
        "has the positions of patches of {} points ('{}'), which do not divide the {} points of {}; "
        "choose other patches (model.patch of \"vit\"), or cut the grid",
        patches.stride[axis], before->signature().name, patches.input.extent[axis], axis_names[axis]);
  }
}

}  // namespace

void kinds::Attention::append_to(GrowingChain& network, const LayerOptions& /*layer*/) const {
  const LayerInput input = network.input();
  GridShape output = require_grid(input, "attends to the points of");
  if (output.channels % (3 * heads) != 0) {
    network.refuse(errors::bad_layer,
                   "reads queries, keys and values of {} head{}, and the {} channels of its input cannot be "
                   "divided by {}; give the layer before it 3 times as many outputs as this one is to have",
                   heads, heads == 1 ? "" : "s", output.channels, 3 * heads);
  }
  output.channels /= 3;
  network.append(std::make_unique<PointAttention>(PointAttentionOptions{
                     .name = input.layer,
                     .points = output.points(),
                     .heads = heads,
                     .head_width = output.channels / heads,
                     .type = network.types().without_weights(input.layer, traits.name)}),
                 output);
}

void kinds::Positions::append_to(GrowingChain& network, const LayerOptions& /*layer*/) const {
  const LayerInput input = network.input();
  require_whole_patches(network);
  PositionsOptions options;
  network.types().set(options, input.layer, traits.name);
  options.grid = require_grid(input, "adds positions to the points of");
  network.append(std::make_unique<PositionsBlock>(std::move(options)), input.grid);
}

}  // namespace mylos
