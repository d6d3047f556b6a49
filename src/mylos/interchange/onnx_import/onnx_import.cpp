#include "mylos/interchange/onnx_import/onnx_import.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "mylos/base/errors/data.hpp"
#include "mylos/interchange/onnx_import/graph/activation_matching.hpp"
#include "mylos/interchange/onnx_import/graph/constant_folding.hpp"
#include "mylos/interchange/onnx_import/graph/graph_order.hpp"
#include "mylos/interchange/onnx_import/graph/norm_matching.hpp"
#include "mylos/interchange/onnx_import/graph/output_matching.hpp"
#include "mylos/interchange/onnx_import/graph/transpose_sinking.hpp"
#include "mylos/interchange/onnx_import/importer.hpp"
#include "mylos/model/network/output_layer.hpp"

namespace mylos {
namespace {

bool is_finite(double value) {
  return std::isfinite(value);
}

/// normalised = (x - shift) scale
ColumnScaling scaling_of_inputs(const ForeignGraph& graph, Affine affine, std::int64_t columns) {
  ColumnScaling scaling;
  if (affine.identity()) return scaling;
  affine = {by_column(affine.scale, columns), by_column(affine.shift, columns)};
  for (std::size_t i = 0; i < affine.scale.size(); ++i) {
    const bool is_constant = affine.scale[i] == 0;
    if (is_constant && affine.shift[i] != 0)
      fail_input(errors::unsupported_feature,
                 "{}: the scaling of its input multiplies number {} by 0 and adds {}; Mylos subtracts, then "
                 "multiplies",
                 graph.file, i, affine.shift[i]);
    scaling.scale.push_back(affine.scale[i]);
    scaling.shift.push_back(is_constant ? 0 : -affine.shift[i] / affine.scale[i]);
  }
  return scaling;
}

/// target = prediction / scale + shift
ColumnScaling scaling_of_targets(const Affine& affine, std::int64_t columns) {
  ColumnScaling scaling;
  if (affine.identity()) return scaling;
  for (const double scale : by_column(affine.scale, columns)) scaling.scale.push_back(1 / scale);
  scaling.shift = by_column(affine.shift, columns);
  return scaling;
}

void require_finite(const ForeignGraph& graph, const ColumnScaling& scaling, const char* of) {
  if (std::all_of(scaling.scale.begin(), scaling.scale.end(), is_finite) &&
      std::all_of(scaling.shift.begin(), scaling.shift.end(), is_finite))
    return;
  fail_input(errors::not_finite, "{}: the scaling of its {} has numbers that are 0 or not finite", graph.file,
             of);
}

void require_finite(const ForeignGraph& graph, const NumberedWeights& weights) {
  for (const auto& [path, values] : weights) {
    const auto wrong =
        std::find_if_not(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
    if (wrong == values.end()) continue;
    fail_input(errors::not_finite, "{}: weight {} of '{}' is {}", graph.file, wrong - values.begin(), path,
               *wrong);
  }
}

std::string describe_order(const char* of, const FileValue& value) {
  OnnxNumbers ours = value.extents;
  ours.push_back(value.channels);
  return fmt::format("{}: {} in the file, [batch, {}] in Mylos, channels last", of, value.text(),
                     fmt::join(ours, ", "));
}

Loss loss_of(const FileValue& output) {
  const Prediction head = output.head;
  if (output.means_of > 0) return losses::Gaussian{};
  if (head == Prediction::classes) return losses::CrossEntropy{};
  if (head == Prediction::probabilities) return losses::BinaryCrossEntropy{};
  return losses::Mse{};
}

ModelOptions model_of(const Importer& importer, const FileValue& output) {
  const FileValue& input = importer.network_input;
  ModelOptions model;
  model.type = ModelType::chain;
  model.loss = loss_of(output);
  model.inputs = input.columns();
  model.outputs = output.columns();
  model.chain = importer.chain.layers();
  if (output.means_of > 0) model.chain[output_layer(model)].outputs = output.channels;
  if (!input.extents.empty()) {
    model.shape = input.extents;
    model.shape.push_back(input.channels);
  }
  return model;
}

/// The deviations of a network that states its uncertainty have the units of its means.
void require_same_units(const ForeignGraph& graph, const Importer& importer, const FileValue& output) {
  if (output.means_of == 0 || importer.deviations == output.affine.scale) return;
  fail_input(errors::unsupported_feature,
             "{}: the standard deviations that it gives are multiplied by other constants than the means; in "
             "Mylos both have the targets' units",
             graph.file);
}

/// The graph with what the importer has functions for.
ForeignGraph prepared(ForeignGraph foreign) {
  ForeignGraph graph = in_order(with_numbers_alone(std::move(foreign)));
  graph = in_order(without_identities(with_constants_folded(std::move(graph))));
  graph = in_order(with_two_classes(with_means_alone(std::move(graph))));
  graph = in_order(with_transposes_sunk(std::move(graph)));
  return with_activations(with_root_norms(std::move(graph)));
}

}  // namespace

ImportedNetwork import_onnx(ForeignGraph foreign) {
  const std::size_t outputs = foreign.outputs.size();
  const ForeignGraph graph = prepared(std::move(foreign));
  Importer importer(graph);
  importer.run();
  const FileValue output = importer.output();
  require_same_units(graph, importer, output);
  ImportedNetwork network;
  network.model = model_of(importer, output);
  if (importer.input_scaling)
    network.normalizer.inputs = scaling_of_inputs(graph, *importer.input_scaling, network.model.inputs);
  network.normalizer.targets = scaling_of_targets(output.affine, network.model.outputs);
  network.weights = std::move(importer.chain.weights);
  require_finite(graph, network.normalizer.inputs, "input");
  require_finite(graph, network.normalizer.targets, "output");
  require_finite(graph, network.weights);
  const FileValue& input = importer.network_input;
  if (!input.extents.empty() && !input.has_our_order())
    network.notes.push_back(describe_order("inputs", input));
  if (!output.extents.empty() && !output.has_our_order())
    network.notes.push_back(describe_order("outputs", output));
  if (outputs > 1 && output.means_of == 0)
    network.notes.push_back(fmt::format("outputs: '{}' alone; labels of classes are left out",
                                        printable(graph.outputs.front().name)));
  return network;
}

}  // namespace mylos
