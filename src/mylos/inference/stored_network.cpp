#include "mylos/inference/stored_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <sstream>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/data/files/column_names.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos {
namespace {

constexpr const char* grid_path = "/samples/grid";

/// A malicious file may state any numbers: their product must be one of a sample.
std::vector<std::int64_t> read_grid(const CheckpointReader& reader) {
  if (!reader.exists(grid_path)) return {};
  std::istringstream numbers(reader.text(grid_path));
  std::vector<std::int64_t> grid(std::istream_iterator<std::int64_t>(numbers), {});
  std::int64_t values = 1;
  bool is_sound = numbers.eof() && grid.size() >= 2 && grid.size() <= 4;
  for (const std::int64_t extent : grid) {
    is_sound = is_sound && extent >= 1 && extent <= std::numeric_limits<std::int32_t>::max() / values;
    if (is_sound) values *= extent;
  }
  if (!is_sound)
    fail_input(ErrorId::damaged, "{}: {} is not 1 to 3 extents and the channels of a sample", reader.path(),
               grid_path);
  return grid;
}

/// "conv2", or a copy of a repeated layer: "conv2.1".
std::string name_of_copy(const std::vector<LayerOptions>& layers, std::size_t index, bool last) {
  const std::int64_t copies = layers[index].repeat;
  const std::string name = layer_name(layers, index);
  return copies == 1 ? name : fmt::format("{}.{}", name, last ? copies : 1);
}

/// Returns the inputs of a network that reads vectors.
std::int64_t inputs_of_vectors(const CheckpointReader& reader, const ModelOptions& model,
                               const Normalizer& normalizer) {
  if (model.chain.front().kind == LayerKind::dense)
    return layer_width(reader, name_of_copy(model.chain, 0, false), 1);
  for (const auto* columns : {&normalizer.inputs.shift, &normalizer.input_range.minimum}) {
    if (!columns->empty()) return static_cast<std::int64_t>(columns->size());
  }
  if (model.inputs > 0) return model.inputs;
  fail_input(ErrorId::missing_key,
             "{}: does not state the inputs of a sample: its first layer has no weights, and its deck has "
             "neither model.inputs nor data.shape",
             reader.path());
}

void complete_sizes(const CheckpointReader& reader, StoredNetwork& network) {
  ModelOptions& model = network.options.model;
  if (model.type == ModelType::gpt) {
    if (model.vocabulary == 0 && network.data.vocabulary) model.vocabulary = network.data.vocabulary->size();
    return;
  }
  if (model.type == ModelType::mlp) {
    model.inputs = layer_width(reader, model.hidden.empty() ? "head" : "hidden1", 1);
    model.outputs = layer_width(reader, "head", 0);
    return;
  }
  if (model.shape.empty()) model.shape = network.grid;
  if (model.shape.empty()) {
    model.inputs = inputs_of_vectors(reader, model, network.data.normalizer);
  } else {
    model.inputs = 1;
    for (const std::int64_t extent : model.shape) model.inputs *= extent;
  }
  const std::size_t last = model.chain.size() - 1;
  const bool ends_by_data = takes_outputs_of_data(model.chain, last);
  model.outputs = ends_by_data ? layer_width(reader, name_of_copy(model.chain, last, true), 0) : 0;
}

void require_scaling(const StoredNetwork& network, const std::string& of, const ColumnScaling& scaling,
                     std::int64_t columns) {
  if (scaling.identity() || static_cast<std::int64_t>(scaling.shift.size()) == columns) return;
  fail_input(ErrorId::damaged, "{}: /data/normalization/{} has {} columns, the network {}", network.path, of,
             scaling.shift.size(), columns);
}

/// The numbers that the data were scaled by must be those of the network's columns.
void require_consistent(const StoredNetwork& network) {
  const Normalizer& normalizer = network.data.normalizer;
  const std::int64_t inputs = network.chain.inputs();
  require_scaling(network, "inputs", normalizer.inputs, inputs);
  require_scaling(network, "targets", normalizer.targets, network.chain.outputs());
  const auto columns = static_cast<std::int64_t>(normalizer.input_range.minimum.size());
  if (columns != 0 && inputs % columns != 0)
    fail_input(ErrorId::damaged, "{}: /input_range has {} columns, the network {}", network.path, columns,
               inputs);
  const auto& vocabulary = network.data.vocabulary;
  if (vocabulary && vocabulary->size() > network.options.model.vocabulary)
    fail_input(ErrorId::damaged, "{}: the vocabulary has {} tokens, the network {}", network.path,
               vocabulary->size(), network.options.model.vocabulary);
}

}  // namespace

std::int64_t layer_width(const CheckpointReader& reader, const std::string& layer, std::size_t dimension) {
  const std::string path = "/model/" + layer + "/weight";
  const std::vector<std::int64_t> dims = reader.dims(path);
  if (dims.size() != 2 || dims[0] == 0 || dims[1] == 0)  // an empty one may claim any height
    fail_input(ErrorId::bad_dataset, "{}: {} is not a matrix [outputs, inputs]", reader.path(), path);
  return dims[dimension];
}

std::vector<std::string> stored_names(const CheckpointReader& reader, const std::string& path) {
  return reader.exists(path) ? names_of_text(reader.text(path)) : std::vector<std::string>();
}

StoredNetwork read_stored_network(const CheckpointReader& reader) {
  StoredNetwork network;
  network.path = reader.path();
  network.step = reader.header().step;
  network.data = read_stored_data(reader);
  run_on_all(reader.ranks(), [&] {
    network.options = read_stored_deck(reader.header().deck, network.path).options;
    network.grid = read_grid(reader);
    network.class_names = stored_names(reader, "/samples/class_names");
    network.input_names = stored_names(reader, "/samples/input_names");
    network.target_names = stored_names(reader, "/samples/target_names");
    Options& options = network.options;
    complete_sizes(reader, network);
    network.chain = make_chain(options.model, options.precision, options.run.seed, false);
    if (options.model.type != ModelType::gpt) {
      options.model.inputs = network.chain.inputs();
      options.model.outputs = network.chain.outputs();
    }
    require_consistent(network);
  });
  return network;
}

}  // namespace mylos
