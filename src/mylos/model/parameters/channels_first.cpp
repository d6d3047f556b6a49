#include "mylos/model/parameters/channels_first.hpp"

#include <fmt/format.h>

#include "mylos/model/block/layer_input.hpp"

namespace mylos {
namespace {

/// Returns the kernel of each convolution by its block's name.
std::map<std::string, PerAxis> kernels_of(const ModelOptions& model) {
  const std::size_t axes = model.shape.size() - 1;
  std::map<std::string, PerAxis> kernels;
  for (std::size_t i = 0; i < model.chain.size(); ++i) {
    const LayerOptions& layer = model.chain[i];
    const auto* conv = std::get_if<kinds::Conv>(&layer.kind);
    if (conv == nullptr) continue;
    PerAxis kernel = conv->kernel;
    if (kernel.size() < axes) kernel.assign(axes, kernel.empty() ? 1 : kernel.front());
    const std::string name = layer_name(model.chain, i);
    for (std::int64_t copy = 1; copy <= layer.repeat; ++copy)
      kernels[layer.repeat == 1 ? name : fmt::format("{}.{}", name, copy)] = kernel;
  }
  return kernels;
}

}  // namespace

std::map<std::string, ChannelsFirst> channels_first_parameters(const ModelOptions& model,
                                                               const Chain& chain) {
  std::map<std::string, ChannelsFirst> layouts;
  if (model.shape.size() < 2) return layouts;  // no grid
  const std::map<std::string, PerAxis> kernels = kernels_of(model);
  GridShape grid = grid_of(model.shape);  // of the block's input
  for (std::size_t i = 0; i < chain.blocks.size(); ++i) {
    const Signature& signature = chain.blocks[i]->signature();
    for (const ParameterSpec& spec : chain.blocks[i]->parameters()) {
      if (spec.name != "weight" || !spec.is_matrix) continue;
      const std::string path = signature.name + "/" + spec.name;
      if (signature.kind == "conv") {
        ChannelsFirst layout{{spec.rows, spec.columns / spec.taps}, spec.taps, spec.columns / spec.taps};
        const PerAxis& kernel = kernels.at(signature.name);
        layout.dims.insert(layout.dims.end(), kernel.begin(), kernel.end());
        layouts.emplace(path, std::move(layout));
      } else if (signature.kind == "linear" && grid.points() > 1 && grid.channels > 1 &&
                 grid.columns() == spec.columns) {
        layouts.emplace(path, ChannelsFirst{{spec.rows, spec.columns}, grid.points(), grid.channels});
      }
    }
    grid = i < chain.grids.size() ? chain.grids[i] : GridShape{.channels = signature.outputs};
  }
  return layouts;
}

ChannelsFirst channels_first_sample(const std::vector<std::int64_t>& shape) {
  ChannelsFirst layout{{shape.back()}, 1, shape.back()};
  for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) {
    layout.dims.push_back(shape[axis]);
    layout.points *= shape[axis];
  }
  return layout;
}

}  // namespace mylos
