#include "mylos/interchange/onnx_import/importer.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "mylos/base/errors/contents.hpp"
#include "mylos/interchange/onnx_import/graph/broadcasting.hpp"
#include "mylos/interchange/onnx_import/graph/constant_folding.hpp"
#include "mylos/interchange/onnx_import/graph/graph_order.hpp"
#include "mylos/interchange/onnx_import/thin_axes.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_value_axes = 8;

constexpr const char* supported =
    "Mylos reads Gemm, MatMul, Conv, ConvTranspose, pools, Resize, BatchNormalization, LayerNormalization, "
    "RMSNormalization, GroupNormalization, InstanceNormalization, Add, Concat, Softmax, Sigmoid, Relu, Gelu, "
    "Tanh, x Sigmoid(x), Pad, and what changes shapes alone";

ImportTable all_operators() {
  ImportTable all;
  for (const auto* table : {&linear_operators(), &convolution_operators(), &pool_operators(),
                            &norm_operators(), &join_operators(), &shape_operators()})
    all.insert(table->begin(), table->end());
  return all;
}

const ForeignPort& only_port(const ForeignGraph& graph, const std::vector<ForeignPort>& ports,
                             const char* what) {
  if (ports.size() == 1) return ports.front();
  std::string names;
  for (const ForeignPort& port : ports) names += (names.empty() ? "" : ", ") + printable(port.name);
  fail_input(errors::unsupported_feature,
             "{}: has {} {}s ({}), and a network of Mylos has one; export it with one", graph.file,
             ports.size(), what, names);
}

}  // namespace

Importer::Importer(const ForeignGraph& foreign) : graph(foreign), uses_(count_uses(foreign)) {
  const ForeignPort& port = only_port(graph, graph.inputs, "input");
  static_cast<void>(only_port(graph, graph.outputs, "output"));
  network_input = input_value(graph);
  values_[port.name] = network_input;
}

void Importer::run() {
  static const ImportTable table = all_operators();
  for (const ForeignNode& node : graph.nodes) {
    if (fold_constants(node)) continue;
    const auto found = table.find(node.op);
    if (found == table.end()) {
      const auto first = node.has_input(0) ? values_.find(node.inputs[0]) : values_.end();
      refuse(node, "{}is not supported; {}", first == values_.end() ? "" : "of " + first->second.text() + " ",
             supported);
    }
    if (!import_without_thin_axes(*this, node, found->second)) found->second(*this, node);
  }
}

FileValue Importer::output() const {
  const std::string& name = graph.outputs.front().name;
  const auto found = values_.find(name);
  if (found == values_.end() || chain.last() == 0 || found->second.edges.any() ||
      found->second.position != chain.last())
    fail_input(errors::unsupported_feature,
               "{}: its output '{}' is not the result of a layer; Mylos reads networks that end in one",
               graph.file, printable(name));
  return found->second;
}

bool Importer::fold_constants(const ForeignNode& node) {
  if (node.op == "Shape" && node.has_input(0) && values_.contains(node.inputs[0])) {
    OnnxNumbers dims = values_.at(node.inputs[0]).shape;
    dims.insert(dims.begin(), batch_extent);
    const auto rank = static_cast<std::int64_t>(dims.size());
    const auto bound = [&](const char* attribute, std::int64_t absent) {
      const auto at = node.get<std::int64_t>(attribute, absent);
      return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    const std::int64_t first = bound("start", 0);
    const std::int64_t last = std::max(first, bound("end", rank));
    set(node, ForeignTensor{{last - first}, true, {}, {dims.begin() + first, dims.begin() + last}});
    return true;
  }
  std::vector<const ForeignTensor*> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    inputs.push_back(constant(node, i));
    if (!node.inputs[i].empty() && inputs.back() == nullptr) return false;
  }
  if (node.outputs.size() != 1) return false;
  auto result = folded(node, inputs);
  if (!result) return false;
  set(node, std::move(*result));
  return true;
}

const FileValue* Importer::find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

void Importer::set_copy(const std::string& of, const std::string& name, FileValue value) {
  values_[name] = std::move(value);
  uses_[name] = uses_.at(of);
}

void Importer::set_constant(const std::string& name, ForeignTensor constant) {
  computed_[name] = std::move(constant);
}

FileValue Importer::value(const ForeignNode& node, std::size_t i) {
  const auto found = i < node.inputs.size() ? values_.find(node.inputs[i]) : values_.end();
  if (found == values_.end())
    refuse(node, "reads a constant, or nothing, as its input {}, where Mylos needs the output of a layer",
           i + 1);
  require_numbers(node, found->second);
  FileValue value = found->second;
  value.is_sole = value.is_sole && uses_.at(node.inputs[i]) == 1;
  return value;
}

/// Makes a Sigmoid that a layer reads of a tanh: sigmoid(x) = (1 + tanh(x / 2)) / 2.
void Importer::require_numbers(const ForeignNode& node, FileValue& value) {
  if (value.head == Prediction::numbers) return;
  const auto channels = static_cast<std::size_t>(value.channels);
  const std::vector<double> half(channels, 0.5);
  const bool is_sigmoid = value.head == Prediction::probabilities && value.is_sole &&
                          fold(chain, value.position, half, std::vector<double>(channels, 0));
  if (!is_sigmoid)
    refuse(
        node,
        "reads the result of a Softmax, or of a Sigmoid that does not follow a linear layer, a convolution "
        "or a norm; Mylos has these at the end of a network");
  value.position = append_activation(value, Activation::tanh);
  value.head = Prediction::numbers;
  value.affine = {half, half};
}

/// Makes the affine map of a value weights of the layer that computes it, if they can be.
bool Importer::fold_back(FileValue& value) {
  if (value.affine.identity()) return true;
  const auto scale = by_channel(value.affine.scale, value.channels);
  const auto shift = by_channel(value.affine.shift, value.channels);
  if (!value.is_sole || !scale || !shift || !fold(chain, value.position, *scale, *shift)) return false;
  value.affine = {};
  return true;
}

void Importer::resolve(const ForeignNode& node, FileValue& value) {
  if (value.means_of > 0)
    refuse(node, "reads the means of a network whose output they are, beside standard deviations");
  if (value.position == 0) {
    if (!input_scaling) input_scaling = value.affine;
    if (*input_scaling != value.affine)
      refuse(node,
             "reads the network's input in another scaling than the layers before it; Mylos scales it once");
    return;
  }
  if (fold_back(value)) return;
  refuse(node,
         "reads the output of layer '{}' multiplied by constants or with constants added; Mylos has such "
         "constants at the beginning and the end of a network, before a matrix, and, per channel, after a "
         "linear layer, a convolution or a norm that nothing else reads",
         chain.name_of(value.position));
}

FileValue Importer::edged_input(const ForeignNode& node, std::size_t i) {
  FileValue value = this->value(node, i);
  resolve(node, value);
  value.affine = {};
  return value;
}

FileValue Importer::layer_input(const ForeignNode& node, std::size_t i) {
  FileValue value = edged_input(node, i);
  if (value.edges.any())
    refuse(node, "reads the result of a Pad; in Mylos only convolutions pad their input");
  return value;
}

FileValue Importer::matrix_input(const ForeignNode& node, std::size_t i) {
  FileValue value = this->value(node, i);
  if (value.position == 0 || value.edges.any() || value.means_of > 0) return layer_input(node, i);
  static_cast<void>(fold_back(value));
  return value;
}

const ForeignTensor* Importer::constant(const ForeignNode& node, std::size_t i) const {
  if (!node.has_input(i)) return nullptr;
  const auto computed = computed_.find(node.inputs[i]);
  if (computed != computed_.end()) return &computed->second;
  const auto found = graph.constants.find(node.inputs[i]);
  return found == graph.constants.end() ? nullptr : &found->second;
}

const std::vector<float>& Importer::numbers(const ForeignNode& node, std::size_t i, const OnnxNumbers& dims,
                                            const char* what) const {
  const ForeignTensor* const found = constant(node, i);
  if (found == nullptr || found->is_integer)
    refuse(node, "has no constant {} as its input {}; Mylos reads networks whose weights are constants", what,
           i + 1);
  if (found->dims != dims)
    fail_input(errors::damaged, "{} has a {} of shape [{}]; expected [{}]", describe(graph, node), what,
               fmt::join(found->dims, ", "), fmt::join(dims, ", "));
  return found->reals;
}

std::optional<OnnxNumbers> Importer::integers(const ForeignNode& node, std::size_t i,
                                              const char* attribute) const {
  if (const ForeignTensor* found = constant(node, i)) {
    if (!found->is_integer) refuse(node, "has numbers that are no integers as its input {}", i + 1);
    return found->integers;
  }
  if (node.has_input(i)) refuse(node, "computes its {} from the samples; they must be constant", attribute);
  const auto* found = node.find<OnnxNumbers>(attribute);
  if (found == nullptr) return std::nullopt;
  return *found;
}

const GridSlice* Importer::part(const ForeignNode& node, std::size_t i) const {
  const auto found = node.has_input(i) ? parts_.find(node.inputs[i]) : parts_.end();
  return found == parts_.end() ? nullptr : &found->second;
}

std::size_t Importer::axis_of(const ForeignNode& node, std::int64_t axis, const FileValue& value) const {
  const auto rank = static_cast<std::int64_t>(value.shape.size()) + 1;
  const std::int64_t at = axis < 0 ? axis + rank : axis;
  if (at == 0) refuse(node, "works along the batch; Mylos computes each sample alone");
  if (at < 0 || at >= rank)
    fail_input(errors::damaged, "{} works along axis {} of {}", describe(graph, node), axis, value.text());
  return static_cast<std::size_t>(at) - 1;
}

void Importer::set(const ForeignNode& node, FileValue value) {
  OnnxNumbers all = value.extents;
  all.push_back(value.channels);
  if (!elements_of(all, max_points) || value.shape.size() > max_value_axes)
    fail_input(errors::too_large, "{} makes {} of a sample; Mylos reads up to {} numbers and {} axes",
               describe(graph, node), value.text(), max_points, max_value_axes);
  values_[node.outputs.front()] = std::move(value);
}

void Importer::set(const ForeignNode& node, ForeignTensor constant) {
  computed_[node.outputs.front()] = std::move(constant);
}

void Importer::set(const ForeignNode& node, GridSlice part) {
  parts_[node.outputs.front()] = std::move(part);
}

std::size_t Importer::append_norm(const FileValue& x, const LayerOptions& norm, const std::string& name) {
  if (x.is_sole && x.position > 0 && x.position == chain.last()) {
    LayerOptions& before = chain.layer(x.position);
    const bool computes = traits_of(before.kind).computes_outputs;
    if (computes && before.norm == NormType::none && before.activation == Activation::none) {
      before.norm = norm.norm;
      before.norm_groups = norm.norm_groups;
      return x.position;
    }
  }
  return chain.append(norm, x.position, name);
}

std::size_t Importer::append_activation(const FileValue& x, Activation activation) {
  if (x.is_sole && x.position > 0 && x.position == chain.last()) {
    LayerOptions& before = chain.layer(x.position);
    if (before.activation == Activation::none && !std::holds_alternative<kinds::Branch>(before.kind)) {
      before.activation = activation;
      return x.position;
    }
  }
  return chain.append({.kind = kinds::Activation{}, .activation = activation}, x.position, "");
}

}  // namespace mylos
