#include "mylos/model/network/output_layer.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {
namespace {

/// Returns whether a layer gives each channel of its input to the channel of its output with that number.
bool keeps_channels(const LayerOptions& layer) {
  return traits_of(layer.kind).keeps_channels && layer.norm == NormType::none;
}

}  // namespace

std::size_t output_layer(const ModelOptions& model) {
  const std::vector<LayerOptions>& layers = model.chain;
  std::size_t i = layers.size() - 1;
  while (i > 0 && keeps_channels(layers[i])) --i;
  const LayerOptions& layer = layers[i];
  const auto* conv = std::get_if<kinds::Conv>(&layer.kind);
  const bool is_grouped = conv != nullptr && conv->groups > 1;
  if (traits_of(layer.kind).computes_outputs && layer.norm == NormType::none && !is_grouped) return i;
  fail_input(
      errors::bad_layer,
      "model.layers: layer '{}' cannot give the {} of model.loss = \"{}\", {} numbers for each output; "
      "end the network with a layer of kind \"dense\", \"conv\" or \"spectral\" without 'norm' and "
      "'groups'",
      layer_name(layers, i),
      model.prediction() == Prediction::distributions ? "means and log variances" : "quantiles",
      name_of(model.loss), outputs_per_target(model.loss));
}

LayerOptions with_outputs_of_targets(LayerOptions layer, const ModelOptions& model) {
  const std::int64_t outputs = layer.outputs > 0 ? layer.outputs : model.outputs;
  layer.outputs = checked_product(outputs, outputs_per_target(model.loss), "model.outputs");
  return layer;
}

}  // namespace mylos
