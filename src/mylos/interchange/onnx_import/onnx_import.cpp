#include "mylos/interchange/onnx_import/onnx_import.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "mylos/base/errors/data.hpp"
#include "mylos/interchange/onnx_import/graph/activation_matching.hpp"
#include "mylos/interchange/onnx_import/graph/constant_folding.hpp"
#include "mylos/interchange/onnx_import/graph/graph_order.hpp"
#include "mylos/interchange/onnx_import/graph/norm_matching.hpp"
#include "mylos/interchange/onnx_import/importer.hpp"

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

Loss loss_of(Prediction head) {
  if (head == Prediction::classes) return losses::CrossEntropy{};
  if (head == Prediction::probabilities) return losses::BinaryCrossEntropy{};
  return losses::Mse{};
}

ModelOptions model_of(const Importer& importer, const FileValue& output) {
  const FileValue& input = importer.network_input;
  ModelOptions model;
  model.type = ModelType::chain;
  model.loss = loss_of(output.head);
  model.inputs = input.columns();
  model.outputs = output.columns();
  model.chain = importer.chain.layers();
  if (!input.extents.empty()) {
    model.shape = input.extents;
    model.shape.push_back(input.channels);
  }
  return model;
}

}  // namespace

ImportedNetwork import_onnx(ForeignGraph foreign) {
  ForeignGraph graph = without_identities(with_constants_folded(in_order(std::move(foreign))));
  graph = with_activations(with_root_norms(in_order(std::move(graph))));
  Importer importer(graph);
  importer.run();
  const FileValue output = importer.output();
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
  return network;
}

}  // namespace mylos
