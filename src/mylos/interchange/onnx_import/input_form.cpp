// Which axis of the network's input has the channels: that of the first operators that distinguish axes.
#include <algorithm>
#include <deque>
#include <numeric>
#include <set>

#include "mylos/base/errors/datasets.hpp"
#include "mylos/interchange/onnx_import/graph/activation_matching.hpp"
#include "mylos/interchange/onnx_import/graph/norm_matching.hpp"
#include "mylos/interchange/onnx_import/importer.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_rank = 5;  // the batch, three extents and the channels

/// A value that has the input's axes: for each of its axes, the batch included, which of the input's it is.
struct Seen {
  std::string name;
  std::vector<std::size_t> axes;
};

bool is_any(const std::string& op, std::initializer_list<std::string_view> of) {
  return std::find(of.begin(), of.end(), op) != of.end();
}

/// The axis of the value that has the channels for this operator; 0: it reads a vector, or has none.
std::size_t channel_axis(const ForeignNode& node, std::size_t rank) {
  if (is_any(node.op, {"Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "Resize",
                       "Upsample", "BatchNormalization", "InstanceNormalization", "GroupNormalization"}))
    return 1;
  if (is_any(node.op, {"MatMul", "LayerNormalization", "RMSNormalization", root_norm_op, "Softmax"}))
    return rank - 1;
  if (node.op != "Concat") return 0;
  const auto axis = node.get<std::int64_t>("axis", 1);
  const std::int64_t at = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  return at > 0 && at < static_cast<std::int64_t>(rank) ? static_cast<std::size_t>(at) : 0;
}

constexpr std::size_t no_axis = static_cast<std::size_t>(-1);

/// The numbers of a Reshape, Squeeze or Unsqueeze: its shape, or its axes.
std::optional<OnnxNumbers> numbers_of(const ForeignGraph& graph, const ForeignNode& node) {
  if (node.inputs.size() < 2) return node.get<OnnxNumbers>("axes", {});
  const auto constant = graph.constants.find(node.inputs[1]);
  if (constant == graph.constants.end()) return std::nullopt;
  return constant->second.integers;
}

/// The shape that such a node makes of one; 1 for an open batch.
std::optional<OnnxNumbers> shape_behind(const ForeignGraph& graph, const ForeignNode& node,
                                        OnnxNumbers shape) {
  auto numbers = numbers_of(graph, node);
  if (!numbers || numbers->empty()) return std::nullopt;
  if (node.op == "Reshape") {
    numbers->front() = 1;
    return numbers;
  }
  const bool adds = node.op == "Unsqueeze";
  const auto rank = static_cast<std::int64_t>(shape.size() + (adds ? numbers->size() : 0));
  for (std::int64_t& axis : *numbers) axis = axis < 0 ? axis + rank : axis;
  std::sort(numbers->begin(), numbers->end(), [&](auto a, auto b) { return adds ? a < b : a > b; });
  for (const std::int64_t axis : *numbers) {
    if (axis < 1 || axis > static_cast<std::int64_t>(shape.size()) - (adds ? 0 : 1)) return std::nullopt;
    if (adds)
      shape.insert(shape.begin() + axis, 1);
    else
      shape.erase(shape.begin() + axis);
  }
  return shape;
}

/// The axes behind a Reshape, Squeeze or Unsqueeze that adds, drops and moves axes of one element alone.
std::optional<Seen> with_axes_of_one(const ForeignGraph& graph, const ForeignNode& node, const Seen& seen) {
  const OnnxNumbers& dims = graph.inputs.front().dims;
  OnnxNumbers before;
  std::vector<std::size_t> wide, ones;
  for (std::size_t i = 0; i < seen.axes.size(); ++i) {
    const std::size_t axis = seen.axes[i];
    before.push_back(i == 0 || axis == no_axis ? 1 : dims[axis]);
    if (i > 0) (before.back() == 1 ? ones : wide).push_back(axis);
  }
  const auto after = shape_behind(graph, node, before);
  if (!after || seen.axes.empty() || seen.axes[0] != 0) return std::nullopt;
  Seen next{node.outputs.front(), {0}};
  std::size_t used = 0, used_ones = 0;
  for (std::size_t i = 1; i < after->size(); ++i) {
    if ((*after)[i] == 1) {
      next.axes.push_back(used_ones < ones.size() ? ones[used_ones++] : no_axis);
      continue;
    }
    if (used == wide.size() || dims[wide[used]] != (*after)[i]) return std::nullopt;
    next.axes.push_back(wide[used++]);
  }
  if (used != wide.size()) return std::nullopt;
  return next;
}

std::optional<Seen> passed_on(const ForeignGraph& graph, const ForeignNode& node, const Seen& seen) {
  if (node.outputs.empty()) return std::nullopt;
  if (is_any(node.op, {"Reshape", "Squeeze", "Unsqueeze"})) return with_axes_of_one(graph, node, seen);
  Seen next{node.outputs.front(), seen.axes};
  if (is_any(node.op, {"Add", "Sub", "Mul", "Div", "Pad", activation_op, "Relu", "Sigmoid", "Tanh"}))
    return next;
  if (node.op != "Transpose") return std::nullopt;
  const auto* order = node.find<OnnxNumbers>("perm");
  if (order == nullptr) {
    std::reverse(next.axes.begin(), next.axes.end());
    return next;
  }
  if (order->size() != seen.axes.size()) return std::nullopt;
  for (std::size_t i = 0; i < order->size(); ++i) {
    const auto from = static_cast<std::size_t>((*order)[i]);
    if (from >= seen.axes.size()) return std::nullopt;
    next.axes[i] = seen.axes[from];
  }
  return next;
}

/// Returns whether a Concat joins a value with slices of it, as periodic edges do.
bool joins_slices(const ForeignNode& node, const std::set<std::string>& slices) {
  return node.op == "Concat" && std::any_of(node.inputs.begin(), node.inputs.end(),
                                            [&](const std::string& input) { return slices.contains(input); });
}

/// Returns whether a Reshape makes [points of all samples, channels] of the network's input, for a matrix.
bool merges_points(const ForeignGraph& graph, const ForeignNode& node, std::size_t rank) {
  if (node.op != "Reshape" || node.inputs.size() != 2 || rank < 3) return false;
  const auto shape = graph.constants.find(node.inputs[1]);
  return shape != graph.constants.end() &&
         shape->second.integers == OnnxNumbers{-1, graph.inputs.front().dims.back()};
}

struct Form {
  bool is_vector = false;
  std::size_t channels = 0;  // the input's axis; 0: no operator has one
};

Form form_of(const ForeignGraph& graph, std::size_t rank) {
  std::map<std::string, std::vector<const ForeignNode*>> readers;
  std::set<std::string> slices;
  for (const ForeignNode& node : graph.nodes) {
    if (node.op == "Slice") slices.insert(node.outputs.begin(), node.outputs.end());
    for (const std::string& input : node.inputs) readers[input].push_back(&node);
  }
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  std::deque<Seen> left{{graph.inputs.front().name, axes}};
  std::set<std::string> visited;
  Form form;
  while (!left.empty()) {
    const Seen seen = std::move(left.front());
    left.pop_front();
    if (!visited.insert(seen.name).second) continue;
    for (const ForeignNode* node : readers[seen.name]) {
      if (joins_slices(*node, slices)) {
        left.push_back({node->outputs.front(), seen.axes});
        continue;
      }
      const bool reads_first = node->inputs[0] == seen.name || node->op == "Concat";
      std::size_t axis = reads_first ? channel_axis(*node, seen.axes.size()) : 0;
      if (merges_points(graph, *node, seen.axes.size())) axis = seen.axes.size() - 1;
      if (axis > 0 && seen.axes[axis] != no_axis) return {false, seen.axes[axis]};
      auto next = passed_on(graph, *node, seen);
      form.is_vector = form.is_vector || (!next && is_any(node->op, {"Flatten", "Reshape", "Squeeze"})) ||
                       node->op == "Gemm";
      if (next) left.push_back(std::move(*next));
    }
  }
  return form;
}

OnnxNumbers known_extents(const ForeignGraph& graph, const ForeignPort& port) {
  const auto what_is_right =
      "Mylos needs an input [batch, numbers], or [batch, channels, extents ...] with one to "
      "three extents that the file states; export it with a dynamic batch alone";
  if (!port.is_real || !port.has_shape || port.dims.size() < 2 || port.dims.size() > max_rank)
    fail_input(errors::unsupported_feature, "{}: its input '{}' has {}; {}", graph.file, printable(port.name),
               !port.is_real     ? "no real numbers"
               : !port.has_shape ? "no shape"
                                 : fmt::format("{} axes", port.dims.size()),
               what_is_right);
  OnnxNumbers extents(port.dims.begin() + 1, port.dims.end());
  for (const std::int64_t extent : extents) {
    if (extent < 1 || extent > max_points)
      fail_input(errors::unsupported_feature, "{}: an extent of its input '{}' is {}; {}", graph.file,
                 printable(port.name), extent < 0 ? "open" : std::to_string(extent), what_is_right);
  }
  return extents;
}

}  // namespace

FileValue input_value(const ForeignGraph& graph) {
  const ForeignPort& port = graph.inputs.front();
  const OnnxNumbers dims = known_extents(graph, port);
  std::int64_t columns = 1;
  for (const std::int64_t extent : dims) columns = checked_product(columns, extent, graph.file.c_str());
  constexpr std::int64_t max_columns = std::int64_t{1} << 26;  // scaling takes 16 bytes for each
  if (columns > max_columns)
    fail_input(errors::too_large, "{}: its input has {} numbers; at most {} are read", graph.file, columns,
               max_points);
  const Form form = dims.size() == 1 ? Form{.is_vector = true} : form_of(graph, dims.size() + 1);
  if (form.channels == 0 && (form.is_vector || dims.size() == 1)) {
    FileValue vector = channels_last_value(0, {}, columns);
    vector.shape = dims;
    return vector;
  }
  const std::size_t at = form.channels == 0 ? 0 : form.channels - 1;
  FileValue value{.channels = dims[at]};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i != at) value.extents.push_back(dims[i]);
  }
  value.shape = dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] > 1) value.order.push_back(i == at ? value.extents.size() : i < at ? i : i - 1);
  }
  return value;
}

}  // namespace mylos
