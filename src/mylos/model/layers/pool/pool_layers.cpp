#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/block/halo.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/margins/margin_block.hpp"
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
  PoolOptions options{.name = network.name(), .pool = pool, .shape = shape};
  options.type = network.types().without_weights(network.name(), kind);
  if (pool != PoolType::global_average || network.last().axes > 0) options.part = network.model().part;
  auto block = std::make_unique<PoolBlock>(std::move(options));
  const GridShape output = block->output();
  network.append(std::move(block), output, axes);
}

/// Extends the grid by the padding of axes whose points beyond the edges have values, and takes it out of the
/// windows.
void append_edges(GrowingChain& network, const Edges& edges, std::string_view kind, PoolShape& shape) {
  const LayerInput input = network.input();
  MarginOptions pad;
  pad.name = network.name() + ".edges";
  pad.edges = padding_kinds(edges, input);
  if (pad.edges == PaddingKinds()) return;
  pad.shape = {.inner = shape.input, .outer = shape.input.extent};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (pad.edges[axis] != PaddingKind::zero) std::swap(pad.shape.before[axis], shape.padding[axis]);
    pad.shape.outer[axis] += 2 * pad.shape.before[axis];
  }
  if (pad.shape.outer == shape.input.extent)
    network.refuse(errors::key_without_effect,
                   "has 'edges', and no window of it reaches beyond them; give 'padding', or leave it out");
  static_cast<void>(checked(GridEdges{pad.shape.inner, pad.shape.before, pad.edges}, input, "pad"));
  shape.input = outer_grid(checked(pad.shape, input, "pad"));
  pad.type = network.types().without_weights(pad.name, kind);
  network.append(std::make_unique<MarginBlock>(std::move(pad)), shape.input);
}

/// Refuses windows that no rank can compute of its box.
void require_windows_of_boxes(const GrowingChain& network, const PoolShape& shape,
                              const PaddingKinds& edges) {
  const GridPart& part = network.model().part;
  if (!part.is_split()) return;
  if (divides_meridians(edges, part))
    network.refuse(errors::keys_conflict,
                   "has 'edges' of poles, and mesh.space divides the axis around them; divide another axis");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!part.is_split(axis) || shape.padding[axis] == 0 || edges[axis] == PaddingKind::zero) continue;
    network.refuse(
        errors::keys_conflict,
        "has 'edges' with points beyond them in {}, which mesh.space divides; use edges = \"zero\", "
        "which averages and maxima leave out, or divide another axis",
        axis_names[axis]);
  }
  try {
    static_cast<void>(split(shape, part));
  } catch (const Error& error) {
    network.refuse(errors::bad_layer, "cannot pool boxes of {}: {}", describe(shape.input), error.message());
  }
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
  static_cast<void>(checked(shape, input, "pool"));
  require_windows_of_boxes(network, shape, padding_kinds(pool.edges, input));
  append_edges(network, pool.edges, Pool::traits.name, shape);
  append_pool(network, Pool::traits.name, type, shape, input.axes);
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
