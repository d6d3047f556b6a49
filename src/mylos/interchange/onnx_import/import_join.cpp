// Add and Concat of the outputs of layers; activations; Softmax and Sigmoid at the end.
#include <algorithm>

#include "mylos/base/errors/contents.hpp"
#include "mylos/interchange/onnx_import/graph/activation_matching.hpp"
#include "mylos/interchange/onnx_import/graph/output_matching.hpp"
#include "mylos/interchange/onnx_import/importer.hpp"

namespace mylos {
namespace {

/// Returns the factor of each channel of a value that something else reads without it: a gate of an addition.
std::optional<std::vector<double>> gate_of(const FileValue& value) {
  const bool is_shared = value.position > 0 && !value.affine.identity() && !value.is_sole;
  const auto is_zero = [](double number) { return number == 0; };
  if (!is_shared || !std::all_of(value.affine.shift.begin(), value.affine.shift.end(), is_zero))
    return std::nullopt;
  return by_channel(value.affine.scale, value.channels);
}

void require_same(const Importer& importer, const ForeignNode& node, const FileValue& a, const FileValue& b) {
  const bool is_same =
      a.shape == b.shape && a.extents == b.extents && a.channels == b.channels && a.order == b.order;
  if (!is_same)
    importer.refuse(node, "adds {} and {}; Mylos adds outputs of the same shape and order", a.text(),
                    b.text());
  if (a.position == b.position)
    importer.refuse(node, "adds {} to itself; multiply the weights of the layer by 2", a.text());
}

void import_add(Importer& importer, const ForeignNode& node) {
  if (import_affine(importer, node)) return;
  ImportedChain& chain = importer.chain;
  for (const std::size_t i : {0, 1}) {
    const FileValue gated = importer.value(node, i);
    const auto gate = gate_of(gated);
    if (!gate || gated.edges.any()) continue;
    FileValue x = importer.layer_input(node, 1 - i);
    require_same(importer, node, x, gated);
    x.position = chain.append({.kind = kinds::Add{.gated = true}, .skip_from = chain.name_of(gated.position)},
                              x.position, "");
    x.is_sole = true;
    chain.weights[chain.layer(x.position).name + "/weight"].assign(gate->begin(), gate->end());
    return importer.set(node, std::move(x));
  }
  FileValue a = importer.layer_input(node, 0);
  const FileValue b = importer.layer_input(node, 1);
  require_same(importer, node, a, b);
  a.position =
      chain.append_join(a.position, b.position, "", [](bool) { return LayerOptions{.kind = kinds::Add{}}; });
  a.is_sole = true;
  importer.set(node, std::move(a));
}

/// Sets the result of the concatenation of a grid's ends with the grid: periodic edges. False: it is none.
bool import_periodic_edges(Importer& importer, const ForeignNode& node) {
  std::optional<std::size_t> middle;
  bool has_parts = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (importer.part(node, i) != nullptr)
      has_parts = true;
    else if (middle)
      return false;
    else
      middle = i;
  }
  if (!has_parts) return false;
  if (!middle || node.inputs.size() > 3 || *middle > 1 || node.inputs.size() - *middle > 2)
    importer.refuse(node, "joins parts of a value in another way than periodic edges");
  FileValue x = importer.value(node, *middle);
  const std::size_t axis = importer.axis_of(node, node.get<std::int64_t>("axis", 0), x);
  if (!x.is_channels_first() || axis == 0)
    importer.refuse(
        node,
        "joins parts of {}; Mylos has periodic edges along the extents of [batch, channels, extents ...]",
        x.text());
  const std::int64_t extent = x.shape[axis];
  bool is_periodic = !x.edges.any(axis - 1);
  std::int64_t added[] = {0, 0};  // before, after
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const GridSlice* const part = importer.part(node, i);
    if (part == nullptr) continue;
    const bool is_before = i < *middle;
    is_periodic = is_periodic && part->of == node.inputs[*middle] && part->axis == axis &&
                  (is_before ? part->end == extent : part->begin == 0);
    added[is_before ? 0 : 1] = part->end - part->begin;
    x.shape[axis] += part->end - part->begin;
  }
  x.edges.add(x.extents.size(), axis - 1, Padding::periodic, added[0], added[1]);
  if (!is_periodic) importer.refuse(node, "joins parts of {} in another way than periodic edges", x.text());
  importer.set(node, std::move(x));
  return true;
}

void import_concat(Importer& importer, const ForeignNode& node) {
  if (import_periodic_edges(importer, node)) return;
  FileValue all = importer.layer_input(node, 0);
  const bool is_first = all.is_channels_first();
  if (!is_first && !all.is_channels_last() && !all.is_vector())
    importer.refuse(node, "joins {}, whose axes Mylos does not know", all.text());
  const std::size_t channels = is_first ? 0 : all.shape.size() - 1;
  if (importer.axis_of(node, node.get<std::int64_t>("axis", 0), all) != channels)
    importer.refuse(node, "joins {} along another axis than the channels", all.text());
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const FileValue next = importer.layer_input(node, i);
    const bool fits =
        next.extents == all.extents && (is_first ? next.is_channels_first() : next.is_channels_last());
    if (!fits)
      importer.refuse(node, "joins {} and {}; both need the same points and order", all.text(), next.text());
    if (next.position == all.position) importer.refuse(node, "joins {} with itself", all.text());
    const std::size_t position = importer.chain.append_join(
        all.position, next.position, "",
        [](bool reads_next) { return LayerOptions{.kind = kinds::Concat{.skip_first = reads_next}}; });
    const std::int64_t sum = all.channels + next.channels;
    all = is_first ? channels_first_value(position, all.extents, sum)
                   : channels_last_value(position, all.extents, sum);
  }
  importer.set(node, std::move(all));
}

void import_activation(Importer& importer, const ForeignNode& node) {
  static const std::map<std::string, Activation> activations{{"relu", Activation::relu},
                                                             {"gelu", Activation::gelu},
                                                             {"gelu_tanh", Activation::gelu_tanh},
                                                             {"tanh", Activation::tanh},
                                                             {"silu", Activation::silu}};
  const auto function = node.get<std::string>("function", "");
  if (function == "identity") return importer.set(node, importer.value(node, 0));
  FileValue x = importer.layer_input(node, 0);
  if (function == "sigmoid") {
    x.head = Prediction::probabilities;
  } else {
    x.position = importer.append_activation(x, activations.at(function));
    x.is_sole = true;
  }
  importer.set(node, std::move(x));
}

void import_softmax(Importer& importer, const ForeignNode& node) {
  FileValue x = importer.layer_input(node, 0);
  const std::int64_t axis = node.get<std::int64_t>("axis", importer.graph.opset < 13 ? 1 : -1);
  const bool is_row = x.shape.size() == 1 && x.has_our_order() && x.columns() > 1;
  if (!is_row || importer.axis_of(node, axis, x) != 0)
    importer.refuse(
        node,
        "of {}; Mylos has the probabilities of two or more classes of [batch, classes], in the order "
        "points, channels where a grid was flattened",
        x.text());
  x.head = Prediction::classes;
  importer.set(node, std::move(x));
}

/// [1 - sigmoid(z), sigmoid(z)] are the probabilities of two classes with the logits [0, z].
void import_two_classes(Importer& importer, const ForeignNode& node) {
  FileValue x = importer.layer_input(node, 0);
  ImportedChain& chain = importer.chain;
  const bool is_dense = x.position > 0 && x.is_sole && x.is_vector() && x.channels == 1 &&
                        std::holds_alternative<kinds::Dense>(chain.layer(x.position).kind) &&
                        chain.layer(x.position).norm == NormType::none &&
                        chain.layer(x.position).activation == Activation::none;
  if (!is_dense) importer.refuse(node, "of {}; expected the result of a linear layer, [batch, 1]", x.text());
  LayerOptions& layer = chain.layer(x.position);
  layer.outputs = 2;
  std::vector<float>& weight = chain.weights[layer.name + "/weight"];
  weight.insert(weight.begin(), weight.size(), 0.F);
  std::vector<float>& bias = chain.weights[layer.name + "/bias"];
  bias.insert(bias.begin(), 0.F);
  FileValue y = channels_last_value(x.position, {}, 2);
  y.head = Prediction::classes;
  importer.set(node, std::move(y));
}

void import_means(Importer& importer, const ForeignNode& node) {
  FileValue x = importer.layer_input(node, 0);
  const std::int64_t means = node.get<std::int64_t>("means", 0);
  const bool is_last = x.is_vector() || x.is_channels_last();
  if (!is_last || importer.axis_of(node, node.get<std::int64_t>("axis", 0), x) + 1 != x.shape.size() ||
      x.channels != 2 * means)
    importer.refuse(node, "takes {} means and their deviations of {}; expected the halves of the last axis",
                    means, x.text());
  FileValue y = channels_last_value(x.position, x.extents, means);
  y.means_of = x.channels;
  const auto factor = importer.graph.constants.find(node.get<std::string>("deviation", ""));
  if (factor != importer.graph.constants.end())
    importer.deviations = in_our_columns(y, factor->second).value_or(std::vector<double>{});
  importer.set(node, std::move(y));
}

}  // namespace

const ImportTable& join_operators() {
  static const ImportTable table{{"Add", import_add},
                                 {"Concat", import_concat},
                                 {activation_op, import_activation},
                                 {means_op, import_means},
                                 {two_classes_op, import_two_classes},
                                 {"Softmax", import_softmax}};
  return table;
}

}  // namespace mylos
