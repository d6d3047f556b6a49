#include "mylos/interchange/onnx_import/graph/graph_order.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/interchange/onnx_import/graph/node_error.hpp"

namespace mylos {
namespace {

enum class Mark { none, open, done };

/// A depth-first walk from the outputs, without recursion: a file chooses its depth.
class Walk {
 public:
  explicit Walk(const ForeignGraph& graph) : graph_(graph), marks_(graph.nodes.size()) {
    for (const ForeignPort& port : graph.inputs) known_.insert(port.name);
    for (const auto& [name, tensor] : graph.constants) known_.insert(name);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const std::string& output : graph.nodes[i].outputs) {
        if (output.empty()) continue;
        if (known_.contains(output) || !producer_.emplace(output, i).second)
          fail_input(errors::damaged, "{} computes '{}', which something else computes too",
                     describe(graph, graph.nodes[i]), printable(output));
      }
    }
  }

  void visit(const std::string& value) {
    push(value, nullptr);
    while (!stack_.empty()) {
      auto& [node, next] = stack_.back();
      const ForeignNode& at = graph_.nodes[node];
      if (next == at.inputs.size()) {
        marks_[node] = Mark::done;
        order.push_back(node);
        stack_.pop_back();
        continue;
      }
      const std::string& input = at.inputs[next++];
      if (!input.empty()) push(input, &at);
    }
  }

  std::vector<std::size_t> order;

 private:
  void push(const std::string& value, const ForeignNode* reader) {
    if (known_.contains(value)) return;
    const auto found = producer_.find(value);
    const auto where = [&] { return reader == nullptr ? graph_.file : describe(graph_, *reader); };
    if (const auto unread = graph_.unread_constants.find(value); unread != graph_.unread_constants.end())
      fail_input(
          errors::unsupported_feature,
          "{} reads the constant '{}' of the type {}; float, float16, bfloat16, double, int32, int64 and "
          "bool are read",
          where(), printable(value), unread->second);
    if (found == producer_.end())
      fail_input(errors::damaged, "{} reads '{}', which nothing computes", where(), printable(value));
    if (marks_[found->second] == Mark::done) return;
    if (marks_[found->second] == Mark::open)
      fail_input(errors::damaged, "{} reads '{}', which depends on its own result", where(),
                 printable(value));
    marks_[found->second] = Mark::open;
    stack_.emplace_back(found->second, 0);
  }

  const ForeignGraph& graph_;
  std::vector<Mark> marks_;
  std::set<std::string> known_;
  std::map<std::string, std::size_t> producer_;
  std::vector<std::pair<std::size_t, std::size_t>> stack_;  // a node, and the next of its inputs
};

bool is_any_of(const std::string& op, std::initializer_list<std::string_view> of) {
  return std::find(of.begin(), of.end(), op) != of.end();
}

/// Names of values that are integers because they are shapes, or computed of shapes.
class Shapes {
 public:
  void add(const ForeignNode& node) {
    const auto is_shape = [&](const std::string& input) { return names_.contains(input); };
    const auto to = node.get<std::int64_t>("to", 0);
    constexpr std::int64_t int32 = 6;
    constexpr std::int64_t int64 = 7;
    bool adds = node.op == "Shape" || (node.op == "Cast" && (to == int32 || to == int64));
    // Of data these read a shape as their second input.
    if (is_any_of(node.op, {"Gather", "Slice", "Squeeze", "Unsqueeze", "Reshape"}))
      adds = is_shape(node.inputs.front());
    if (is_any_of(node.op, {"Concat", "Add", "Sub", "Mul", "Div"}))
      adds = std::any_of(node.inputs.begin(), node.inputs.end(), is_shape);
    if (adds) names_.insert(node.outputs.begin(), node.outputs.end());
  }
  [[nodiscard]] bool contain(const std::string& name) const { return names_.contains(name); }

 private:
  std::set<std::string> names_;
};

bool is_identity(const ForeignNode& node, const Shapes& shapes) {
  constexpr std::int64_t real_types[] = {1, 10, 11, 16};  // float, float16, double, bfloat16
  if (node.op == "Cast") {
    if (node.has_input(0) && shapes.contain(node.inputs[0])) return false;
    const auto to = node.get<std::int64_t>("to", 0);
    return std::find(std::begin(real_types), std::end(real_types), to) != std::end(real_types);
  }
  return node.op == "Identity" || node.op == "Dropout";
}

}  // namespace

ForeignGraph in_order(ForeignGraph graph) {
  Walk walk(graph);
  for (const ForeignPort& output : graph.outputs) walk.visit(output.name);
  std::vector<ForeignNode> nodes;
  for (const std::size_t i : walk.order) nodes.push_back(std::move(graph.nodes[i]));
  graph.nodes = std::move(nodes);
  return graph;
}

std::map<std::string, int> count_uses(const ForeignGraph& graph) {
  std::map<std::string, int> uses;
  for (const ForeignNode& node : graph.nodes) {
    for (const std::string& input : node.inputs) ++uses[input];
  }
  for (const ForeignPort& output : graph.outputs) ++uses[output.name];
  return uses;
}

std::map<std::string, std::size_t> producers_of(const ForeignGraph& graph) {
  std::map<std::string, std::size_t> producers;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& output : graph.nodes[i].outputs) producers[output] = i;
  }
  return producers;
}

ForeignGraph without_identities(ForeignGraph graph) {
  std::map<std::string, std::string> names;  // of what a removed node read
  const auto source_of = [&](const std::string& name) {
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
  };
  std::vector<ForeignNode> nodes;
  Shapes shapes;
  for (ForeignNode& node : graph.nodes) {
    for (std::string& input : node.inputs) input = source_of(input);
    if (!node.inputs.empty()) shapes.add(node);
    if (is_identity(node, shapes) && node.has_input(0) && !node.outputs.empty()) {
      names[node.outputs.front()] = node.inputs.front();
      continue;
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
  for (ForeignPort& output : graph.outputs) output.name = source_of(output.name);
  return graph;
}

}  // namespace mylos
