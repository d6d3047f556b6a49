#include "mylos/interchange/onnx/onnx_network.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/base/version.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/inference/stored/float_weights.hpp"
#include "mylos/interchange/onnx/onnx_chain.hpp"
#include "mylos/interchange/onnx/onnx_scaling.hpp"
#include "mylos/interchange/onnx/onnx_tokens.hpp"
#include "mylos/io/system/system_memory.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/layers/spectral/spectral_modes.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos {
namespace {

constexpr const char* batch_dimension = "batch";

OnnxPort port_of(const std::string& name, OnnxType type, const OnnxNumbers& shape) {
  OnnxPort port{name, type, {batch_dimension}};
  port.dims.insert(port.dims.end(), shape.begin(), shape.end());
  return port;
}

/// Returns the chain in the types of the graph.
Chain chain_in(const StoredNetwork& network, DType type) {
  PrecisionOptions precision = network.options.precision;
  precision.compute = type;
  precision.masters = MasterWeights::fp32;
  precision.adapt = false;
  if (type == DType::fp32) precision.rules.clear();
  return make_chain(network.options.model, precision, network.options.run.seed, false);
}

/// Returns what the outputs of a loss are, as `mylos predict` says it.
const char* meaning_of(const StoredNetwork& network) {
  if (network.options.model.type == ModelType::gpt) return "logits of the next token";
  if (network.chain.has_deviations())
    return "targets in their own units; standard_deviation: the standard deviation of each";
  if (!network.chain.quantiles().empty())
    return "targets in their own units; quantile_Q: the quantile of each at level Q";
  return meaning_of(network.chain.prediction());
}

/// Makes probabilities of the outputs, or gives them the targets' units.
OnnxBoundary interpreted(OnnxBuilder& graph, const StoredNetwork& network, OnnxBoundary y) {
  if (network.chain.prediction() == Prediction::classes) {
    const std::string shares =
        graph.node("Softmax", {y.in(OnnxLayout::rows, graph)}, {{"axis", std::int64_t{-1}}});
    return y.with(OnnxType::float32, OnnxLayout::rows, shares);
  }
  if (network.chain.prediction() == Prediction::probabilities)
    return y.with(OnnxType::float32, y.layout(), graph.node("Sigmoid", {y.in(y.layout(), graph)}));
  return onnx_unscaled(graph, network.training.normalizer.targets, std::move(y), network.path);
}

/// Ends the graph with an output of this name.
void add_output(OnnxBuilder& builder, const std::string& value, OnnxPort port) {
  OnnxGraph& graph = builder.graph();
  graph.nodes.push_back({port.name + "/Identity", "Identity", {value}, port.name, {}});
  graph.outputs.push_back(std::move(port));
}

void add_numbers(OnnxBuilder& builder, const StoredNetwork& network, const ReadOnnxWeight& read) {
  const ModelOptions& model = network.options.model;
  const bool on_grid = model.shape.size() > 1;
  const std::size_t axes = on_grid ? model.shape.size() - 1 : 0;
  const GridShape grid = on_grid ? grid_of(model.shape) : GridShape{.channels = network.chain.inputs()};
  const OnnxPort port = port_of("inputs", OnnxType::float32, network.input_shape);
  builder.graph().inputs.push_back(port);
  OnnxBoundary x(grid, axes, OnnxType::float32, OnnxLayout::points, port.name);
  x = onnx_scaled(builder, network.training.normalizer.inputs, std::move(x), network.path);
  x = x.cast(onnx_type_of(network.chain.input_type()), builder);
  OnnxBoundary y = onnx_blocks(builder, network.chain, read, std::move(x)).cast(OnnxType::float32, builder);
  const OnnxLayout layout = network.output_shape.size() > 1 ? OnnxLayout::points : OnnxLayout::rows;
  if (!network.chain.has_deviations() && network.chain.quantiles().empty()) {
    y = interpreted(builder, network, std::move(y));
    add_output(builder, y.in(layout, builder), port_of("outputs", OnnxType::float32, network.output_shape));
    return;
  }
  const std::span<const double> levels = network.chain.quantiles();
  GridShape of_outputs = y.grid();
  of_outputs.channels /= outputs_per_target(model.loss);
  const std::string& all = y.in(OnnxLayout::points, builder);  // means and log variances, or quantiles
  const auto channels = static_cast<std::int64_t>(y.axes() + 1);
  const auto part = [&](std::size_t number) {
    const std::int64_t first = static_cast<std::int64_t>(number) * of_outputs.channels;
    return OnnxBoundary(of_outputs, y.axes(), OnnxType::float32, OnnxLayout::points,
                        builder.slice(all, channels, first, first + of_outputs.channels));
  };
  const auto add = [&](const std::string& name, std::size_t number) {
    OnnxBoundary outputs = interpreted(builder, network, part(number));
    add_output(builder, outputs.in(layout, builder), port_of(name, OnnxType::float32, network.output_shape));
  };
  add("outputs", levels.empty() ? 0 : central_quantile(levels));
  for (std::size_t i = 0; i < levels.size(); ++i) add(fmt::format("quantile_{}", levels[i]), i);
  if (!levels.empty()) return;
  OnnxBoundary deviations =
      onnx_deviations(builder, network.training.normalizer.targets, part(1), network.path);
  add_output(builder, deviations.in(layout, builder),
             port_of("standard_deviation", OnnxType::float32, network.output_shape));
}

void add_tokens(OnnxBuilder& builder, const StoredNetwork& network, const ReadOnnxWeight& read) {
  const ModelOptions& model = network.options.model;
  const std::int64_t known =
      network.training.vocabulary ? network.training.vocabulary->size() : model.vocabulary;
  OnnxPort tokens{"tokens", OnnxType::int64, {batch_dimension, "tokens"}};
  OnnxPort logits{"logits", OnnxType::float32, {batch_dimension, "tokens", known}};
  const std::string value = onnx_gpt(builder, model, network.chain, read, tokens.name, known);
  builder.graph().inputs.push_back(std::move(tokens));
  add_output(builder, value, std::move(logits));
}

void add_metadata(OnnxGraph& graph, const CheckpointReader& checkpoint, const StoredNetwork& network,
                  StoredWeights weights) {
  const auto add = [&](const char* name, std::string text) {
    if (!text.empty()) graph.metadata.emplace_back(std::string("mylos.") + name, std::move(text));
  };
  const auto add_names = [&](const char* name, const std::vector<std::string>& names) {
    add(name, fmt::format("{}", fmt::join(names, "\n")));
  };
  add("run", network.options.run.name);
  add("step", fmt::format("{}", network.step));
  add("checkpoint", std::filesystem::path(network.path).filename().string());
  add("digest", contents_digest(checkpoint.path()));
  add("data", network.training.identity);
  add("weights", weights == StoredWeights::average ? "average" : "current");
  add("code_version", checkpoint.header().code_version);
  add("outputs", meaning_of(network));
  add_names("input_names", network.samples.input_names);
  add_names("target_names", network.samples.target_names);
  add_names("class_names", network.samples.class_names);
  if (network.training.vocabulary) {
    add("vocabulary", std::string(name_of(network.training.vocabulary->kind())));
    add("characters", network.training.vocabulary->text());
  }
  add("deck", checkpoint.header().deck);
}

/// Returns the bytes of all weights in the graph's types.
std::int64_t bytes_of_weights(const Chain& chain) {
  std::int64_t bytes = 0;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& spec : chain.stage_parameters(stage))
      bytes += spec.size() * size_of(onnx_type_of(spec.type));
  }
  return bytes;
}

void require_size(const StoredNetwork& network, const FloatWeights& weights, DType type) {
  const std::int64_t bytes = bytes_of_weights(network.chain);
  if (bytes > max_onnx_bytes) {
    const bool fits_in_half = type == DType::fp32 && bytes / 2 <= max_onnx_bytes;
    fail_input(errors::too_large, "{}: {} of weights in {}, and a file of ONNX has at most {}; {}",
               network.path, format_bytes(bytes), name_of(type), format_bytes(max_onnx_bytes),
               fits_in_half ? "--type fp16 halves them" : "a model file, MODEL.h5, has no such limit");
  }
  const ModeMatrices matrices = mode_matrices(network.chain);
  if (bytes + matrices.bytes > max_onnx_bytes) {
    fail_input(
        errors::too_large,
        "{}: layer '{}' has {} modes: each of the matrices of its modes in the graph takes {}, all of the "
        "network {}, and a file of ONNX has at most {} with the weights' {}; train with fewer modes, or "
        "export a model file, MODEL.h5, which has no such matrices",
        network.path, matrices.layer, matrices.modes, format_bytes(matrices.largest),
        format_bytes(matrices.bytes), format_bytes(max_onnx_bytes), format_bytes(bytes));
  }
  // The graph, and the largest constant as it is read or made and in another layout.
  const std::int64_t largest =
      std::max(weights.largest() * static_cast<std::int64_t>(sizeof(float)), matrices.largest);
  const std::int64_t needed = bytes + matrices.bytes + 2 * largest;
  const std::int64_t available = available_host_memory();
  if (needed <= available) return;
  throw Error(ExitCode::does_not_fit, errors::does_not_fit,
              fmt::format("{}: its graph takes {}, {} are available", network.path, format_bytes(needed),
                          format_bytes(available)));
}

}  // namespace

OnnxGraph onnx_graph_of(const StoredNetwork& network, std::int64_t opset, const ReadOnnxWeight& read) {
  OnnxBuilder builder(opset);
  if (network.options.model.type == ModelType::gpt) {
    add_tokens(builder, network, read);
  } else {
    add_numbers(builder, network, read);
  }
  return std::move(builder.graph());
}

OnnxModel make_onnx_model(const CheckpointReader& checkpoint, const OnnxOptions& options) {
  StoredNetwork network = read_stored_network(checkpoint, NetworkKinds::numbers_and_tokens);
  network.chain = chain_in(network, options.type);
  const FloatWeights weights(checkpoint, network.chain, options.weights == StoredWeights::average);
  require_size(network, weights, options.type);
  OnnxModel model;
  try {
    model.graph =
        onnx_graph_of(network, options.opset, [&](const std::string& path) { return weights.read(path); });
  } catch (const Error& error) {
    if (error.id() != errors::not_finite || error.message().starts_with(network.path)) throw;
    fail_input(errors::not_finite, "{}: {}", network.path, error.message());
  }
  model.graph.name = network.options.run.name.empty() ? "network" : network.options.run.name;
  model.graph.producer_version = code_version();
  add_metadata(model.graph, checkpoint, network, options.weights);
  model.weights = weights.count();
  model.weight_bytes = bytes_of_weights(network.chain);
  return model;
}

}  // namespace mylos
