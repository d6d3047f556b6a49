#include "mylos/inference/stored/stored_network.hpp"

#include <fmt/format.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/uncertainty/evaluated_rows.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos {
namespace {

/// Returns the name of one of a repeated layer's copies.
std::string copy_name(const std::vector<LayerOptions>& layers, std::size_t layer, std::int64_t copy) {
  const std::string name = layer_name(layers, layer);
  return layers[layer].repeat == 1 ? name : fmt::format("{}.{}", name, copy);
}

/// Returns one of the dimensions of a layer's weights, [outputs, inputs].
std::int64_t layer_width(const CheckpointReader& reader, const std::string& layer, std::size_t dimension) {
  const std::string path = "/model/" + layer + "/weight";
  const std::vector<std::int64_t> dims = reader.dims(path);
  if (dims.size() != 2 || dims[0] == 0 || dims[1] == 0)  // an empty one may claim any height
    fail_input(errors::bad_dataset, "{}: {} is not a matrix [outputs, inputs]", reader.path(), path);
  return dims[dimension];
}

/// Sets the sizes that the deck may leave to the data.
void complete_sizes(const CheckpointReader& reader, StoredNetwork& network) {
  ModelOptions& model = network.options.model;
  if (model.type == ModelType::gpt) return complete_vocabulary(network);
  if (model.shape.empty() && model.type == ModelType::chain) model.shape = network.samples.grid;
  const bool on_grid = model.shape.size() > 1;
  model.inputs = on_grid ? size_of_shape(model.shape, reader.path().c_str()) : stored_inputs(reader, network);
  model.outputs = stored_outputs(reader, model);
  if (model.inputs > 0) return;
  fail_input(
      errors::missing_dataset,
      "{}: does not say how many inputs a sample has; a run whose deck has model.inputs, or data.shape "
      "of a network on a grid, stores it",
      reader.path());
}

void require_columns(const std::string& path, const char* of, const ColumnScaling& scaling,
                     std::int64_t columns) {
  const auto count = static_cast<std::int64_t>(scaling.shift.size());
  if (scaling.shift.size() == scaling.scale.size() && (scaling.identity() || count == columns)) return;
  fail_input(errors::damaged, "{}: /data/normalization/{} has {} columns, the network {}", path, of, count,
             columns);
}

/// Throws Error if what the file says of the samples does not fit the network.
void require_samples_fit(const StoredNetwork& network) {
  const Normalizer& normalizer = network.training.normalizer;
  require_columns(network.path, "inputs", normalizer.inputs, network.chain.inputs());
  require_columns(network.path, "targets", normalizer.targets, network.chain.outputs());
  const auto columns = static_cast<std::int64_t>(normalizer.input_range.minimum.size());
  if (columns != 0 && network.chain.inputs() % columns != 0) {
    fail_input(errors::damaged, "{}: /input_range has {} columns, the network {}", network.path, columns,
               network.chain.inputs());
  }
  if (network.calibration)
    require_calibration_fits(*network.calibration, target_shape(network.chain), network.path);
}

/// Returns the dimensions of a sample's outputs.
std::vector<std::int64_t> output_shape_of(const Chain& chain, std::size_t axes) {
  if (chain.grids.empty() || chain.grids.back().points() == 1) return {chain.outputs()};
  const GridShape grid = chain.output_grid();
  std::vector<std::int64_t> shape(grid.extent.end() - static_cast<std::ptrdiff_t>(axes), grid.extent.end());
  shape.push_back(grid.channels);
  return shape;
}

void require_kind(const CheckpointReader& reader, const StoredNetwork& network, NetworkKinds kinds) {
  const bool has_tokens =
      network.options.model.type == ModelType::gpt || network.training.vocabulary.has_value();
  if (has_tokens && kinds == NetworkKinds::numbers) {
    fail_input(errors::wrong_format,
               "{} is a network of tokens, not of numbers; use `mylos sample` to generate text",
               reader.path());
  }
  if (!network.training.vocabulary && kinds == NetworkKinds::tokens) {
    fail_input(errors::wrong_format, "{} is not a network of tokens; `mylos predict` computes its outputs",
               reader.path());
  }
}

}  // namespace

std::int64_t size_of_shape(const std::vector<std::int64_t>& shape, const char* what) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count = checked_product(count, extent, what);
  return count;
}

std::int64_t stored_inputs(const CheckpointReader& reader, const StoredNetwork& network) {
  const ModelOptions& model = network.options.model;
  if (model.type == ModelType::mlp) return layer_width(reader, model.hidden.empty() ? "head" : "hidden1", 1);
  const LayerTraits& first = traits_of(model.chain.front().kind);
  if (first.computes_outputs && !first.needs_grid)
    return layer_width(reader, copy_name(model.chain, 0, 1), 1);
  if (model.inputs > 0) return model.inputs;
  const Normalizer& normalizer = network.training.normalizer;
  return static_cast<std::int64_t>(normalizer.inputs.identity() ? normalizer.input_range.minimum.size()
                                                                : normalizer.inputs.shift.size());
}

std::int64_t stored_outputs(const CheckpointReader& reader, const ModelOptions& model) {
  std::string layer = "head";
  if (model.type != ModelType::mlp) {
    const std::size_t last = model.chain.size() - 1;
    if (!takes_outputs_of_data(model.chain, last)) return 0;
    layer = copy_name(model.chain, last, model.chain[last].repeat);
  }
  const std::int64_t width = layer_width(reader, layer, 0);
  const std::int64_t of_target = outputs_per_target(model.loss);
  if (width % of_target == 0) return width / of_target;
  fail_input(errors::bad_dataset,
             "{}: layer '{}' has {} outputs, but model.loss = \"{}\" needs {} for each target", reader.path(),
             layer, width, name_of(model.loss), of_target);
}

void complete_vocabulary(StoredNetwork& network) {
  std::int64_t& classes = network.options.model.vocabulary;
  if (classes == 0) classes = network.known_classes();
  if (network.known_classes() <= classes) return;
  fail_input(errors::damaged, "{}: the vocabulary has {} tokens, the network {}", network.path,
             network.known_classes(), classes);
}

void set_shapes(StoredNetwork& network) {
  const std::vector<std::int64_t>& shape = network.options.model.shape;
  const std::size_t axes = shape.size() > 1 ? shape.size() - 1 : 0;
  network.input_shape = axes > 0 ? shape : std::vector<std::int64_t>{network.chain.inputs()};
  network.output_shape = output_shape_of(network.chain, axes);
}

void set_chain(StoredNetwork& network) {
  Options& options = network.options;
  options.model.target_names = network.samples.target_names;
  network.chain = make_chain(options.model, options.precision, options.run.seed, false);
  set_shapes(network);
  require_samples_fit(network);
}

void complete_by_file(const CheckpointReader& reader, StoredNetwork& network) {
  complete_sizes(reader, network);
  set_chain(network);
}

StoredNetwork read_unsized_network(const CheckpointReader& reader, const CustomLayers& custom) {
  StoredNetwork network;
  network.path = reader.path();
  network.step = reader.header().step;
  run_on_all(reader.ranks(), [&] { network.options = stored_options(reader); });
  network.options.model.custom_layers = custom;
  network.training = read_stored_data(reader);
  network.calibration = read_calibration(reader);
  network.rollout_calibration = read_calibration(reader, Calibrated::rollouts);
  run_on_all(reader.ranks(), [&] { network.samples = stored_samples(reader); });
  return network;
}

StoredNetwork read_stored_network(const CheckpointReader& reader, NetworkKinds kinds,
                                  const CustomLayers& custom) {
  StoredNetwork network = read_unsized_network(reader, custom);
  run_on_all(reader.ranks(), [&] {
    require_kind(reader, network, kinds);
    complete_by_file(reader, network);
  });
  return network;
}

}  // namespace mylos
