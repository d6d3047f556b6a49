#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/pool/pool_block.hpp"

namespace mylos {
namespace {

template <class Pool>
Pool with_all_stated(Pool pool) {
  if (pool.kernel.empty()) pool.kernel = {2};
  if (pool.stride.empty()) pool.stride = pool.kernel;
  if (pool.padding.empty()) pool.padding = {0};
  return pool;
}

void append_pool(GrowingChain& network, std::string_view kind, PoolType pool, const PoolShape& shape,
                 std::size_t axes) {
  auto block =
      std::make_unique<PoolBlock>(PoolOptions{.name = network.name(),
                                              .pool = pool,
                                              .shape = shape,
                                              .type = network.types().without_weights(network.name(), kind)});
  const GridShape output = block->output();
  network.append(std::move(block), output, axes);
}

template <class Pool>
void append_windows(GrowingChain& network, const Pool& pool, PoolType type) {
  const LayerInput input = network.input();
  const Pool stated = pool.stated();
  PoolShape shape;
  shape.input = require_grid(input, "pools");
  shape.window = along_axes(stated.kernel, 1, input, "kernel");
  shape.stride = along_axes(stated.stride, 1, input, "stride");
  shape.padding = along_axes(stated.padding, 0, input, "padding");
  append_pool(network, Pool::traits.name, type, checked(shape, input, "pool"), input.axes);
}

}  // namespace

kinds::MaxPool kinds::MaxPool::stated() const {
  return with_all_stated(*this);
}

kinds::AveragePool kinds::AveragePool::stated() const {
  return with_all_stated(*this);
}

void kinds::MaxPool::append_to(GrowingChain& network, const LayerOptions& /*layer*/) const {
  append_windows(network, *this, PoolType::max);
}

void kinds::AveragePool::append_to(GrowingChain& network, const LayerOptions& /*layer*/) const {
  append_windows(network, *this, PoolType::average);
}

void kinds::GlobalPool::append_to(GrowingChain& network, const LayerOptions& /*layer*/) const {
  append_pool(network, traits.name, PoolType::global_average, {.input = network.input().grid}, 0);
}

}  // namespace mylos
