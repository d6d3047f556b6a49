#include "mylos/base/errors/combinations.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/attention/point_attention.hpp"
#include "mylos/model/layers/attention/positions_block.hpp"

namespace mylos {

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
  PositionsOptions options;
  network.types().set(options, input.layer, traits.name);
  options.grid = require_grid(input, "adds positions to the points of");
  network.append(std::make_unique<PositionsBlock>(std::move(options)), input.grid);
}

}  // namespace mylos
