#include "mylos/interchange/onnx_import/graph/output_matching.hpp"

#include <algorithm>
#include <optional>

#include "mylos/interchange/onnx_import/graph/graph_order.hpp"

namespace mylos {
namespace {

using Producers = std::map<std::string, std::size_t>;

ForeignNode* producer(ForeignGraph& graph, const Producers& producers, const std::string& value,
                      const char* op, std::size_t inputs) {
  const auto found = producers.find(value);
  if (found == producers.end() || graph.nodes[found->second].op != op) return nullptr;
  ForeignNode& node = graph.nodes[found->second];
  return node.inputs.size() >= inputs ? &node : nullptr;
}

const ForeignTensor* constant(const ForeignGraph& graph, const std::string& name) {
  const auto found = graph.constants.find(name);
  return found == graph.constants.end() ? nullptr : &found->second;
}

bool is_scalar(const ForeignGraph& graph, const std::string& name, float value) {
  const ForeignTensor* const found = constant(graph, name);
  return found != nullptr && found->reals.size() == 1 && found->reals[0] == value;
}

/// The range of one axis that a Slice takes.
struct Range {
  std::string of;
  std::int64_t axis = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::optional<Range> range_of(const ForeignGraph& graph, const ForeignNode* slice) {
  if (slice == nullptr) return std::nullopt;
  const auto number = [&](std::size_t i) -> const std::int64_t* {
    const ForeignTensor* const found = constant(graph, slice->inputs[i]);
    return found != nullptr && found->integers.size() == 1 ? found->integers.data() : nullptr;
  };
  const auto* begin = number(1);
  const auto* end = number(2);
  const auto* axis = number(3);
  if (begin == nullptr || end == nullptr || axis == nullptr) return std::nullopt;
  return Range{slice->inputs[0], *axis, *begin, *end};
}

/// exp(s / 2) of a slice s, and the constant by which it is multiplied.
struct Deviations {
  Range half;
  std::string factor;  // "": none
};

std::optional<Deviations> deviations_of(ForeignGraph& graph, const Producers& producers, std::string value) {
  constexpr std::size_t slice_inputs = 4;
  Deviations found;
  if (const ForeignNode* scaled = producer(graph, producers, value, "Mul", 2);
      scaled != nullptr && constant(graph, scaled->inputs[1]) != nullptr) {
    found.factor = scaled->inputs[1];
    value = scaled->inputs[0];
  }
  const ForeignNode* const exponential = producer(graph, producers, value, "Exp", 1);
  if (exponential == nullptr) return std::nullopt;
  const ForeignNode* const half = producer(graph, producers, exponential->inputs[0], "Mul", 2);
  if (half == nullptr || !is_scalar(graph, half->inputs[1], 0.5F)) return std::nullopt;
  const auto range = range_of(graph, producer(graph, producers, half->inputs[0], "Slice", slice_inputs));
  if (!range) return std::nullopt;
  found.half = *range;
  return found;
}

}  // namespace

ForeignGraph with_numbers_alone(ForeignGraph graph) {
  std::map<std::string, bool> is_map;
  for (ForeignNode& node : graph.nodes) {
    if (node.op != "ai.onnx.ml.ZipMap" || node.outputs.empty()) continue;
    is_map[node.outputs.front()] = true;
    node.op = "Identity";
  }
  const auto has_numbers = [&](const ForeignPort& port) { return port.is_real || is_map[port.name]; };
  std::vector<ForeignPort> kept;
  for (const ForeignPort& port : graph.outputs) {
    if (has_numbers(port)) kept.push_back(port);
  }
  if (kept.size() == 1) graph.outputs = std::move(kept);
  return graph;
}

ForeignGraph with_two_classes(ForeignGraph graph) {
  const Producers producers = producers_of(graph);
  for (ForeignNode& node : graph.nodes) {
    const auto axis = node.get<std::int64_t>("axis", 0);
    if (node.op != "Concat" || node.inputs.size() != 2 || (axis != 1 && axis != -1)) continue;
    const ForeignNode* const other = producer(graph, producers, node.inputs[0], "Sub", 2);
    const ForeignNode* const sigmoid = producer(graph, producers, node.inputs[1], "Sigmoid", 1);
    const bool is_pair = other != nullptr && sigmoid != nullptr && other->inputs[1] == node.inputs[1] &&
                         is_scalar(graph, other->inputs[0], 1);
    if (!is_pair) continue;
    node.op = two_classes_op;
    node.inputs = {sigmoid->inputs[0]};
  }
  return graph;
}

ForeignGraph with_means_alone(ForeignGraph graph) {
  if (graph.outputs.size() != 2) return graph;
  const Producers producers = producers_of(graph);
  for (const std::size_t i : {0, 1}) {
    const auto deviations = deviations_of(graph, producers, graph.outputs[i].name);
    if (!deviations) continue;
    for (ForeignNode& node : graph.nodes) {
      const auto range =
          node.op == "Slice" && node.inputs.size() >= 4 ? range_of(graph, &node) : std::nullopt;
      const bool is_first_half =
          range && range->of == deviations->half.of && range->axis == deviations->half.axis &&
          range->begin == 0 && range->end == deviations->half.begin && deviations->half.end >= 2 * range->end;
      if (!is_first_half) continue;
      node.op = means_op;
      node.inputs = {range->of};
      node.attributes = {
          {"axis", {range->axis}}, {"means", {range->end}}, {"deviation", {deviations->factor}}};
      graph.outputs.erase(graph.outputs.begin() + static_cast<std::ptrdiff_t>(i));
      return in_order(std::move(graph));
    }
  }
  return graph;
}

}  // namespace mylos
