// A chain whose blocks read earlier boundaries: twice the same, the chain's input, and one in another type.
#pragma once

#include "mylos/model/chain/chain.hpp"
#include "mylos/model/layers/activation/activation_block.hpp"
#include "mylos/model/layers/dense/dense.hpp"
#include "mylos/model/layers/join/join.hpp"
#include "mylos/model/losses/make_loss.hpp"

namespace mylos::test {

/// x_1 = tanh dense, 5 wide     x_4 = x_3 + x_1       x_7 = [x_6, x_0], 6 more
/// x_2 = gelu dense, 8          x_5 = gelu(x_4)       x_8 = dense, 8
/// x_3 = relu dense, 5          x_6 = [x_5, x_1]      x_9 = x_8 + x_2, of type `middle`; then a dense of 4
inline Chain skipping_chain(DType type, DType middle, double dropout = 0) {
  Chain chain;
  const auto signature = [&](std::size_t boundary) { return chain.blocks[boundary - 1]->signature(); };
  const auto add = [&](std::unique_ptr<Block> block, std::size_t skip = no_skip) {
    chain.blocks.push_back(std::move(block));
    chain.skips.push_back(skip);
  };
  const auto add_dense = [&](std::int64_t outputs, Activation activation, DType compute) {
    const bool first = chain.blocks.empty();
    add(std::make_unique<Dense>(
        DenseOptions{.name = "dense" + std::to_string(chain.blocks.size()),
                     .inputs = first ? 6 : signature(chain.blocks.size()).outputs,
                     .outputs = outputs,
                     .activation = activation,
                     .dropout = dropout,
                     .input_type = first ? compute : signature(chain.blocks.size()).output_type,
                     .type = compute,
                     .first = first,
                     .seed = 5}));
  };
  const auto add_join = [&](JoinType join, std::size_t skip, bool skip_first = false) {
    const Signature before = signature(chain.blocks.size());
    add(std::make_unique<Join>(JoinOptions{.name = "join" + std::to_string(chain.blocks.size()),
                                           .join = join,
                                           .skip_first = skip_first,
                                           .channels = before.outputs,
                                           .skip_channels = skip == 0 ? 6 : signature(skip).outputs,
                                           .input_type = before.output_type,
                                           .skip_type = skip == 0 ? type : signature(skip).output_type,
                                           .type = type}),
        skip);
  };
  add_dense(5, Activation::tanh, type);
  add_dense(8, Activation::gelu, middle);
  add_dense(5, Activation::relu, type);
  add_join(JoinType::add, 1);
  add(std::make_unique<ActivationBlock>(ActivationOptions{
      .name = "activation", .width = 5, .activation = Activation::gelu, .dropout = dropout, .type = type}));
  add_join(JoinType::concat, 1);
  add_join(JoinType::concat, 0, true);
  add_dense(8, Activation::none, type);
  add_join(JoinType::add, 2);
  add_dense(4, Activation::none, type);
  chain.head = make_loss({}, {.numbers = 4, .type = type});
  return chain;
}

}  // namespace mylos::test
