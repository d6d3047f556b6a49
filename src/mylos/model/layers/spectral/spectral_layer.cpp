#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/spectral/spectral_block.hpp"

namespace mylos {
namespace {

SpectralShape spectral_of(const PerAxis& modes, std::int64_t outputs, const LayerInput& input,
                          const GridPart& part) {
  SpectralShape shape;
  shape.part = part;
  shape.input = require_grid(input, "transforms");
  if (outputs == 0)
    fail_input(errors::missing_key,
               "model.layers: layer '{}' needs 'outputs', the number of its output channels", input.layer);
  if (modes.empty())
    fail_input(errors::missing_key,
               "model.layers: layer '{}' needs 'modes', the wave numbers that it keeps along each axis",
               input.layer);
  shape.outputs = outputs;
  shape.modes = along_axes(modes, 1, input, "modes");
  return checked(shape, input, "transform");
}

}  // namespace

void kinds::Spectral::append_to(GrowingChain& network, const LayerOptions& layer) const {
  SpectralOptions options;
  network.types().set(options, network.name(), "spectral");
  options.shape = spectral_of(modes, layer.outputs, network.input(), network.model().part);
  options.bias = bias;
  options.first = network.is_first();
  const GridShape output = output_grid(options.shape);
  network.append(std::make_unique<SpectralBlock>(std::move(options)), output);
}

}  // namespace mylos
