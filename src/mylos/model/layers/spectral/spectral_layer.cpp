#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/layers/layer_kinds.hpp"
#include "mylos/model/layers/spectral/spectral_block.hpp"

namespace mylos {
namespace {

SpectralShape spectral_of(const LayerOptions& layer, const LayerInput& input) {
  SpectralShape shape;
  shape.input = require_grid(input, "transforms");
  if (layer.outputs == 0)
    fail_input(errors::missing_key,
               "model.layers: layer '{}' needs 'outputs', the number of its output channels", input.layer);
  if (layer.modes.empty())
    fail_input(errors::missing_key,
               "model.layers: layer '{}' needs 'modes', the wave numbers that it keeps along each axis",
               input.layer);
  shape.outputs = layer.outputs;
  shape.modes = along_axes(layer.modes, 1, input, "modes");
  return checked(shape, input, "transform");
}

}  // namespace

void append_spectral(GrowingChain& network, const LayerOptions& layer) {
  SpectralOptions options;
  network.types().set(options, network.name(), "spectral");
  options.shape = spectral_of(layer, network.input());
  options.bias = layer.bias;
  options.first = network.is_first();
  const GridShape output = output_grid(options.shape);
  network.append(std::make_unique<SpectralBlock>(std::move(options)), output);
}

}  // namespace mylos
