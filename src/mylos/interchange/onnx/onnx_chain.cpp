#include "mylos/interchange/onnx/onnx_chain.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/interchange/onnx/onnx_grids.hpp"
#include "mylos/interchange/onnx/onnx_norms.hpp"
#include "mylos/interchange/onnx/onnx_operators.hpp"
#include "mylos/model/chain/chain_branch.hpp"
#include "mylos/model/grid/coordinates_block.hpp"
#include "mylos/model/grid/gated_add.hpp"
#include "mylos/model/grid/spectral_block.hpp"
#include "mylos/model/layers/activation_block.hpp"
#include "mylos/model/layers/dense.hpp"
#include "mylos/model/layers/join.hpp"

namespace mylos {
namespace {

OnnxBoundary onnx_dense(OnnxLayer& layer, const DenseOptions& options, OnnxBoundary& x) {
  const std::string z = layer.linear("", x.in(OnnxLayout::rows, layer.graph), 2);
  return {GridShape{.channels = options.outputs}, 0, layer.type(), OnnxLayout::rows,
          onnx_activation(layer.graph, options.activation, z, layer.type())};
}

OnnxBoundary onnx_join(OnnxLayer& layer, const JoinOptions& options, OnnxBoundary& x, OnnxBoundary& skip) {
  OnnxBuilder& graph = layer.graph;
  if (options.join == JoinType::add) {
    // model.residual adds a vector to a grid with the same numbers
    const bool same = x.grid() == skip.grid() && x.axes() == skip.axes();
    const OnnxLayout layout = same ? x.layout() : OnnxLayout::rows;
    return x.with(layer.type(), layout, graph.node("Add", {x.in(layout, graph), skip.in(layout, graph)}));
  }
  GridShape grid = x.grid();
  grid.channels += skip.grid().channels;
  const OnnxLayout layout = OnnxLayout::channels_first;
  std::vector<std::string> parts{x.in(layout, graph), skip.in(layout, graph)};
  if (options.skip_first) std::swap(parts[0], parts[1]);
  return {grid, x.axes(), layer.type(), layout, graph.node("Concat", parts, {{"axis", std::int64_t{1}}})};
}

/// `skip`: the boundary that the block reads besides x; null: none. Both have the block's type.
OnnxBoundary onnx_block(OnnxLayer& layer, const Block& block, OnnxBoundary& x, OnnxBoundary* skip) {
  if (const auto* dense = dynamic_cast<const Dense*>(&block)) return onnx_dense(layer, dense->options(), x);
  if (const auto* convolution = dynamic_cast<const ConvolutionBlock*>(&block))
    return onnx_convolution(layer, convolution->options(), x);
  if (const auto* pool = dynamic_cast<const PoolBlock*>(&block)) return onnx_pool(layer, *pool, x);
  if (const auto* upsample = dynamic_cast<const UpsampleBlock*>(&block))
    return onnx_upsampling(layer, *upsample, x);
  if (const auto* norm = dynamic_cast<const NormBlock*>(&block)) return onnx_norm(layer, norm->options(), x);
  if (const auto* norm = dynamic_cast<const GroupNormBlock*>(&block))
    return onnx_group_norm(layer, norm->options(), x);
  if (const auto* norm = dynamic_cast<const BatchNormBlock*>(&block))
    return onnx_batch_norm(layer, norm->options(), x);
  if (const auto* activation = dynamic_cast<const ActivationBlock*>(&block)) {
    const std::string& value = x.in(x.layout(), layer.graph);
    return x.with(layer.type(), x.layout(),
                  onnx_activation(layer.graph, activation->options().activation, value, layer.type()));
  }
  if (const auto* join = dynamic_cast<const Join*>(&block))
    return onnx_join(layer, join->options(), x, *skip);
  if (const auto* spectral = dynamic_cast<const SpectralBlock*>(&block))
    return onnx_spectral(layer, spectral->spectral()->shape(), x);
  if (const auto* margins = dynamic_cast<const MarginBlock*>(&block))
    return onnx_margins(layer, margins->options(), x);
  if (dynamic_cast<const CoordinatesBlock*>(&block) != nullptr) return onnx_coordinates(layer, x);
  if (dynamic_cast<const GatedAdd*>(&block) != nullptr) return onnx_gated_add(layer, x, *skip);
  fail_input(
      errors::unsupported_feature,
      "layer '{}' is of the kind '{}', which `mylos export` cannot write as ONNX; export a model file, "
      "MODEL.h5",
      layer.name(), block.signature().kind);
}

}  // namespace

OnnxBoundary onnx_blocks(OnnxBuilder& graph, const Chain& chain, const ReadOnnxWeight& read,
                         OnnxBoundary input) {
  std::vector<OnnxBoundary> boundaries{std::move(input)};
  boundaries.reserve(chain.blocks.size() + 1);
  for (std::size_t i = 0; i < chain.blocks.size(); ++i) {
    const Block& block = *chain.blocks[i];
    const std::size_t from = chain.skip_of(i);
    graph.begin_layer(block.signature().name);
    if (dynamic_cast<const ChainBranch*>(&block) != nullptr) {
      boundaries.push_back(boundaries[from]);
      continue;
    }
    OnnxLayer layer(graph, read, block.signature(), block.parameters());
    // A boundary in the layer's type is taken itself, so that it keeps the layouts that this layer asks for.
    OnnxBoundary copies[2];
    const auto in_type = [&](std::size_t boundary, OnnxBoundary& copy) {
      if (boundaries[boundary].type() == layer.type()) return &boundaries[boundary];
      copy = boundaries[boundary].cast(layer.type(), graph);
      return &copy;
    };
    OnnxBoundary* const x = in_type(i, copies[0]);
    OnnxBoundary* const skip = from == no_skip ? nullptr : in_type(from, copies[1]);
    boundaries.push_back(onnx_block(layer, block, *x, skip));
  }
  graph.begin_layer("");
  return std::move(boundaries.back());
}

}  // namespace mylos
