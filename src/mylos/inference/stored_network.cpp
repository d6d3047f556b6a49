#include "mylos/inference/stored_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/data/files/column_names.hpp"
#include "mylos/inference/grids/other_grid.hpp"
#include "mylos/inference/network_state.hpp"
#include "mylos/inference/uncertainty/judged_rows.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos {
namespace {

/// Returns the name of one of a repeated layer's copies.
std::string copy_name(const std::vector<LayerOptions>& layers, std::size_t layer, std::int64_t copy) {
  const std::string name = layer_name(layers, layer);
  return layers[layer].repeat == 1 ? name : fmt::format("{}.{}", name, copy);
}

/// Returns how many inputs a sample of a vector network has, as far as the file says it.
std::int64_t vector_inputs(const CheckpointReader& reader, const StoredNetwork& network) {
  const ModelOptions& model = network.options.model;
  if (model.type == ModelType::mlp) return layer_width(reader, model.hidden.empty() ? "head" : "hidden1", 1);
  const LayerTraits& first = traits_of(model.chain.front().kind);
  if (first.computes_outputs && !first.needs_grid)
    return layer_width(reader, copy_name(model.chain, 0, 1), 1);
  if (model.inputs > 0) return model.inputs;
  if (!network.normalizer.inputs.identity())
    return static_cast<std::int64_t>(network.normalizer.inputs.shift.size());
  return static_cast<std::int64_t>(network.normalizer.input_range.minimum.size());
}

std::int64_t stored_outputs(const CheckpointReader& reader, const ModelOptions& model) {
  if (model.type == ModelType::mlp) return stored_targets(reader, model, "head");
  const std::size_t last = model.chain.size() - 1;
  if (!takes_outputs_of_data(model.chain, last)) return 0;  // the last layer has them
  return stored_targets(reader, model, copy_name(model.chain, last, model.chain[last].repeat));
}

/// Sets the sizes that the deck may leave to the data.
void complete_sizes(const CheckpointReader& reader, StoredNetwork& network) {
  ModelOptions& model = network.options.model;
  if (model.type == ModelType::gpt) {
    if (model.vocabulary == 0 && network.vocabulary) model.vocabulary = network.vocabulary->size();
    return;
  }
  if (model.shape.empty() && model.type == ModelType::chain) model.shape = stored_grid(reader);
  const bool on_grid = model.shape.size() > 1;
  model.inputs = on_grid ? size_of_shape(model.shape, reader.path().c_str()) : vector_inputs(reader, network);
  model.outputs = stored_outputs(reader, model);
  if (model.inputs > 0) return;
  fail_input(
      errors::missing_dataset,
      "{}: does not say how many inputs a sample has; a run whose deck has model.inputs, or data.shape "
      "of a network on a grid, stores it",
      reader.path());
}

void require_same_columns(const std::string& path, const char* of, const ColumnScaling& scaling,
                          std::int64_t columns) {
  const auto count = static_cast<std::int64_t>(scaling.shift.size());
  if (scaling.shift.size() == scaling.scale.size() && (scaling.identity() || count == columns)) return;
  fail_input(errors::damaged, "{}: /data/normalization/{} has {} columns, the network {}", path, of, count,
             columns);
}

/// Throws Error if what the file says of the data does not fit the network.
void require_data_fits(const StoredNetwork& network) {
  require_same_columns(network.path, "inputs", network.normalizer.inputs, network.chain.inputs());
  require_same_columns(network.path, "targets", network.normalizer.targets, network.chain.outputs());
  const auto columns = static_cast<std::int64_t>(network.normalizer.input_range.minimum.size());
  if (columns != 0 && network.chain.inputs() % columns != 0) {
    fail_input(errors::damaged, "{}: /input_range has {} columns, the network {}", network.path, columns,
               network.chain.inputs());
  }
  const std::int64_t tokens = network.vocabulary ? network.vocabulary->size() : 0;
  if (tokens > network.options.model.vocabulary) {
    fail_input(errors::damaged, "{}: the vocabulary has {} tokens, the network {}", network.path, tokens,
               network.options.model.vocabulary);
  }
}

/// Returns the dimensions of a sample's outputs.
std::vector<std::int64_t> output_shape_of(const Chain& chain, std::size_t axes) {
  if (chain.grids.empty() || chain.grids.back().points() == 1) return {chain.outputs()};
  const GridShape grid = chain.output_grid();
  std::vector<std::int64_t> shape(grid.extent.end() - static_cast<std::ptrdiff_t>(axes), grid.extent.end());
  shape.push_back(grid.channels);
  return shape;
}

}  // namespace

std::int64_t layer_width(const CheckpointReader& reader, const std::string& layer, std::size_t dimension) {
  const std::string path = "/model/" + layer + "/weight";
  const std::vector<std::int64_t> dims = reader.dims(path);
  if (dims.size() != 2 || dims[0] == 0 || dims[1] == 0)  // an empty one may claim any height
    fail_input(errors::bad_dataset, "{}: {} is not a matrix [outputs, inputs]", reader.path(), path);
  return dims[dimension];
}

std::int64_t stored_targets(const CheckpointReader& reader, const ModelOptions& model,
                            const std::string& layer) {
  const std::int64_t width = layer_width(reader, layer, 0);
  const std::int64_t of_target = outputs_per_target(model.prediction());
  if (width % of_target == 0) return width / of_target;
  fail_input(errors::bad_dataset,
             "{}: layer '{}' has {} outputs, but model.loss = \"{}\" needs {} for each target", reader.path(),
             layer, width, name_of(model.loss), of_target);
}

std::vector<std::string> stored_names(const CheckpointReader& reader, const std::string& path) {
  return reader.exists(path) ? names_of_text(reader.text(path)) : std::vector<std::string>();
}

std::vector<std::int64_t> stored_grid(const CheckpointReader& reader) {
  constexpr const char* path = "/samples/grid";
  if (!reader.exists(path)) return {};
  std::istringstream numbers(reader.text(path));
  std::vector<std::int64_t> grid(std::istream_iterator<std::int64_t>(numbers), {});
  constexpr std::size_t max_dimensions = 4;  // 3 extents and the channels
  const bool is_grid = numbers.eof() && grid.size() <= max_dimensions &&
                       std::all_of(grid.begin(), grid.end(), [](std::int64_t extent) { return extent > 0; });
  if (!is_grid)
    fail_input(errors::bad_dataset, "{}: {} is no list of 1 to 3 extents and channels", reader.path(), path);
  return grid;
}

void make_stored_chain(const CheckpointReader& reader, StoredNetwork& network) {
  const ModelOptions& model = network.options.model;
  complete_sizes(reader, network);
  network.chain = make_chain(model, network.options.precision, network.options.run.seed, false);
  const std::size_t axes = model.shape.size() > 1 ? model.shape.size() - 1 : 0;
  network.input_shape = axes > 0 ? model.shape : std::vector<std::int64_t>{network.chain.inputs()};
  network.output_shape = output_shape_of(network.chain, axes);
}

void move_to_grid(StoredNetwork& network, const std::vector<std::int64_t>& shape,
                  const RequireMemory& require_memory) {
  ModelOptions& model = network.options.model;
  if (shape.empty() || shape == network.input_shape) return;
  NetworkOnGrid other = on_other_grid({model, network.chain, network.normalizer}, network.options.precision,
                                      shape, network.path, require_memory);
  model = std::move(other.model);
  network.chain = std::move(other.chain);
  network.normalizer = std::move(other.normalizer);
  network.input_shape = shape;
  network.output_shape = output_shape_of(network.chain, shape.size() - 1);
}

StoredNetwork read_stored_network(const CheckpointReader& reader, NetworkKinds kinds) {
  StoredNetwork network;
  network.path = reader.path();
  network.step = reader.header().step;
  ModelOptions& model = network.options.model;
  run_on_all(reader.ranks(), [&] {
    network.options = read_stored_deck(reader.header().deck, network.path).options;
    const bool has_tokens = model.type == ModelType::gpt || reader.exists("/vocabulary");
    if (!has_tokens || kinds == NetworkKinds::numbers_and_tokens) return;
    fail_input(errors::wrong_format,
               "{} is a network of tokens, not of numbers; use `mylos sample` to generate text",
               network.path);
  });
  network.normalizer = read_normalizer(reader);
  network.vocabulary = read_vocabulary(reader);
  network.calibration = read_calibration(reader);
  run_on_all(reader.ranks(), [&] {
    network.input_names = stored_names(reader, "/samples/input_names");
    network.target_names = stored_names(reader, "/samples/target_names");
    network.class_names = stored_names(reader, "/samples/class_names");
    make_stored_chain(reader, network);
    require_data_fits(network);
    if (network.calibration)
      require_calibration_fits(*network.calibration, target_shape(network.chain), network.path);
  });
  return network;
}

}  // namespace mylos
