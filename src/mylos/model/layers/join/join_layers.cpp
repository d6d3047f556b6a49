#include "mylos/base/errors/combinations.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/join/gated_add.hpp"
#include "mylos/model/layers/join/join.hpp"

namespace mylos {
namespace {

/// Returns the boundary that the layer joins to its input. Both have the same points, and for an addition the
/// same channels.
LayerOutput joined_to(GrowingChain& network, const LayerOptions& layer, JoinType join) {
  const LayerInput input = network.input();
  LayerOutput from = network.skip_of(layer);
  if (from.grid.extent != input.grid.extent) network.require_levels_fit();
  if (from.grid.extent != input.grid.extent || (join == JoinType::add && from.grid != input.grid)) {
    network.refuse(errors::bad_layer, "reads '{}', which gives {}, and its input has {}; {}", layer.skip_from,
                   describe(from.grid), describe(input.grid),
                   join == JoinType::add ? "an addition needs the same" : "both need the same points");
  }
  return from;
}

void append_join(GrowingChain& network, JoinType join, bool skip_first, const LayerOutput& from,
                 const GridShape& output) {
  const LayerInput input = network.input();
  const BlockTypes types = network.types();
  const DType type = types.compute(
      input.layer, join == JoinType::add ? kinds::Add::traits.name : kinds::Concat::traits.name);
  network.append(std::make_unique<Join>(JoinOptions{.name = input.layer,
                                                    .join = join,
                                                    .skip_first = skip_first,
                                                    .points = input.grid.points(),
                                                    .channels = input.grid.channels,
                                                    .skip_channels = from.grid.channels,
                                                    .input_type = types.input_of(type),
                                                    .skip_type = from.type,
                                                    .type = type}),
                 output, input.axes, from.boundary);
}

}  // namespace

void kinds::Add::append_to(GrowingChain& network, const LayerOptions& layer) const {
  const LayerInput input = network.input();
  const LayerOutput from = joined_to(network, layer, JoinType::add);
  if (!gated) return append_join(network, JoinType::add, false, from, input.grid);
  GatedAddOptions options;
  network.types().set(options, input.layer, traits.name);
  options.grid = input.grid;
  options.part = network.model().part;
  options.skip_type = from.type;
  network.append(std::make_unique<GatedAdd>(std::move(options)), input.grid, input.axes, from.boundary);
}

void kinds::Concat::append_to(GrowingChain& network, const LayerOptions& layer) const {
  const LayerOutput from = joined_to(network, layer, JoinType::concat);
  GridShape output = network.input().grid;
  output.channels += from.grid.channels;
  append_join(network, JoinType::concat, skip_first, from, output);
  check_grid(output, fmt::format("model.layers: layer '{}'", network.name()).c_str());
}

}  // namespace mylos
