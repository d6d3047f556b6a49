#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/layers/layer_kinds.hpp"
#include "mylos/model/layers/pool/pool_block.hpp"

namespace mylos {
namespace {

PoolShape pool_of(const LayerOptions& layer, const LayerInput& input) {
  const PerAxis window = layer.kernel.empty() ? PerAxis{2} : layer.kernel;
  PoolShape shape;
  shape.input = require_grid(input, "pools");
  shape.window = along_axes(window, 1, input, "kernel");
  shape.stride = along_axes(layer.stride.empty() ? window : layer.stride, 1, input, "stride");
  shape.padding = along_axes(layer.padding, 0, input, "padding");
  return checked(shape, input, "pool");
}

void append_pool(GrowingChain& network, const LayerOptions& layer, PoolType pool, const PoolShape& shape,
                 std::size_t axes) {
  auto block = std::make_unique<PoolBlock>(
      PoolOptions{.name = network.name(),
                  .pool = pool,
                  .shape = shape,
                  .type = network.types().without_weights(network.name(), name_of(layer.kind))});
  const GridShape output = block->output();
  network.append(std::move(block), output, axes);
}

}  // namespace

void append_max_pool(GrowingChain& network, const LayerOptions& layer) {
  const LayerInput input = network.input();
  append_pool(network, layer, PoolType::max, pool_of(layer, input), input.axes);
}

void append_average_pool(GrowingChain& network, const LayerOptions& layer) {
  const LayerInput input = network.input();
  append_pool(network, layer, PoolType::average, pool_of(layer, input), input.axes);
}

void append_global_pool(GrowingChain& network, const LayerOptions& layer) {
  append_pool(network, layer, PoolType::global_average, {.input = network.input().grid}, 0);
}

}  // namespace mylos
