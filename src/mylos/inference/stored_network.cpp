#include "mylos/inference/stored_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "mylos/base/error.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/data/files/column_names.hpp"
#include "mylos/inference/network_state.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos {
namespace {

std::vector<std::string> names_at(const CheckpointReader& reader, const char* path) {
  return reader.exists(path) ? names_of_text(reader.text(path)) : std::vector<std::string>();
}

/// Returns one of the dimensions of a layer's weights, [outputs, inputs]; 0 if it has no such matrix.
std::int64_t weight_dimension(const CheckpointReader& reader, const std::string& layer,
                              std::size_t dimension) {
  const std::string path = "/model/" + layer + "/weight";
  if (!reader.exists(path)) return 0;
  const std::vector<std::int64_t> dims = reader.dims(path);
  if (dims.size() != 2 || dims[0] == 0 || dims[1] == 0)  // an empty one may claim any height
    fail_input(ErrorId::bad_dataset, "{}: {} is not a matrix [outputs, inputs]", reader.path(), path);
  return dims[dimension];
}

/// Returns the name of one of a repeated layer's copies.
std::string copy_name(const std::vector<LayerOptions>& layers, std::size_t layer, std::int64_t copy) {
  const std::string name = layer_name(layers, layer);
  return layers[layer].repeat == 1 ? name : fmt::format("{}.{}", name, copy);
}

std::vector<std::int64_t> stored_grid(const CheckpointReader& reader) {
  constexpr const char* path = "/samples/grid";
  if (!reader.exists(path)) return {};
  std::istringstream numbers(reader.text(path));
  std::vector<std::int64_t> grid(std::istream_iterator<std::int64_t>(numbers), {});
  constexpr std::size_t max_dimensions = 4;  // 3 extents and the channels
  const bool is_grid = grid.size() <= max_dimensions &&
                       std::all_of(grid.begin(), grid.end(), [](std::int64_t extent) { return extent > 0; });
  if (!is_grid)
    fail_input(ErrorId::bad_dataset, "{}: {} is no list of 1 to 3 extents and channels", reader.path(), path);
  return grid;
}

std::int64_t size_of_grid(const std::string& path, const std::vector<std::int64_t>& grid) {
  std::int64_t size = 1;
  for (const std::int64_t extent : grid) size = checked_product(size, extent, path.c_str());
  return size;
}

/// Returns how many inputs a sample of a vector network has, as far as the file says it.
std::int64_t vector_inputs(const CheckpointReader& reader, const StoredNetwork& network) {
  const ModelOptions& model = network.options.model;
  const std::string first = model.type != ModelType::mlp ? copy_name(model.chain, 0, 1)
                            : model.hidden.empty()       ? "head"
                                                         : "hidden1";
  if (model.type == ModelType::mlp || model.chain.front().kind == LayerKind::dense) {
    if (const std::int64_t inputs = weight_dimension(reader, first, 1); inputs > 0) return inputs;
  }
  if (model.inputs > 0) return model.inputs;
  if (!network.normalizer.inputs.identity())
    return static_cast<std::int64_t>(network.normalizer.inputs.shift.size());
  return static_cast<std::int64_t>(network.normalizer.input_range.minimum.size());
}

std::int64_t stored_outputs(const CheckpointReader& reader, const ModelOptions& model) {
  if (model.type == ModelType::mlp) return weight_dimension(reader, "head", 0);
  const std::size_t last = model.chain.size() - 1;
  if (!takes_outputs_of_data(model.chain, last)) return 0;  // the last layer has them
  return weight_dimension(reader, copy_name(model.chain, last, model.chain[last].repeat), 0);
}

/// Sets the sizes that the deck may leave to the data.
void complete_sizes(const CheckpointReader& reader, StoredNetwork& network) {
  ModelOptions& model = network.options.model;
  if (model.shape.empty() && model.type == ModelType::chain) model.shape = stored_grid(reader);
  const bool on_grid = model.shape.size() > 1;
  model.inputs = on_grid ? size_of_grid(reader.path(), model.shape) : vector_inputs(reader, network);
  model.outputs = stored_outputs(reader, model);
  if (model.inputs > 0) return;
  fail_input(
      ErrorId::missing_dataset,
      "{}: does not say how many inputs a sample has; a run whose deck has model.inputs, or data.shape "
      "of a network on a grid, stores it",
      reader.path());
}

void require_scaling(const std::string& path, const char* of, const ColumnScaling& scaling,
                     std::int64_t columns) {
  const auto count = static_cast<std::int64_t>(scaling.shift.size());
  if (scaling.shift.size() == scaling.scale.size() && (scaling.identity() || count == columns)) return;
  fail_input(ErrorId::damaged, "{}: /data/normalization/{} has {} columns, the network {}", path, of, count,
             columns);
}

/// Returns the dimensions of a sample's outputs.
std::vector<std::int64_t> output_shape_of(const Chain& chain, std::size_t axes) {
  if (chain.grids.empty() || chain.grids.back().points() == 1) return {chain.outputs()};
  const GridShape& grid = chain.grids.back();
  std::vector<std::int64_t> shape(grid.extent.end() - static_cast<std::ptrdiff_t>(axes), grid.extent.end());
  shape.push_back(grid.channels);
  return shape;
}

}  // namespace

StoredNetwork read_stored_network(const CheckpointReader& reader) {
  StoredNetwork network;
  network.path = reader.path();
  network.step = reader.header().step;
  network.options = read_stored_deck(reader.header().deck, network.path).options;
  ModelOptions& model = network.options.model;
  if (model.type == ModelType::gpt || reader.exists("/vocabulary")) {
    fail_input(ErrorId::wrong_format,
               "{} is a network of tokens, not of numbers; use `mylos sample` to generate text",
               network.path);
  }
  network.normalizer = read_normalizer(reader);
  network.input_names = names_at(reader, "/samples/input_names");
  network.target_names = names_at(reader, "/samples/target_names");
  network.class_names = names_at(reader, "/samples/class_names");
  complete_sizes(reader, network);
  network.chain = make_chain(model, network.options.precision, network.options.run.seed, false);
  const std::size_t axes = model.shape.size() > 1 ? model.shape.size() - 1 : 0;
  network.input_shape = axes > 0 ? model.shape : std::vector<std::int64_t>{network.chain.inputs()};
  network.output_shape = output_shape_of(network.chain, axes);
  require_scaling(network.path, "inputs", network.normalizer.inputs, network.chain.inputs());
  require_scaling(network.path, "targets", network.normalizer.targets, network.chain.outputs());
  return network;
}

}  // namespace mylos
