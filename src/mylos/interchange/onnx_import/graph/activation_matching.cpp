#include "mylos/interchange/onnx_import/graph/activation_matching.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <utility>
#include <vector>

#include "mylos/interchange/onnx_import/graph/graph_order.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_nodes = 24;  // of one function

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double gelu_tanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

struct Named {
  const char* name;
  double (*function)(double);
};
constexpr std::array known_functions{
    Named{"identity", [](double x) { return x; }},
    Named{"relu", [](double x) { return x > 0 ? x : 0; }},
    Named{"tanh", [](double x) { return std::tanh(x); }},
    Named{"sigmoid", sigmoid},
    Named{"silu", [](double x) { return x * sigmoid(x); }},
    Named{"gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); }},
    Named{"gelu_tanh", gelu_tanh}};

constexpr std::array sample_points{0.,  0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.85, 1.,  1.25, 1.5,
                                   2.,  2.5,  3.,   3.5, 4.,  4.5, 5.,  5.9,  6.1, 7.,   8.,
                                   10., 12.,  15.,  20., 30., 50., 1e2, 1e3,  1e4, 1e6};

/// Returns an attribute, or the constant input that newer opsets have instead.
double parameter(const ForeignNode& node, const char* attribute, const std::vector<double>& values,
                 std::size_t i, double absent) {
  if (i < values.size() && !std::isnan(values[i])) return values[i];
  return static_cast<double>(node.get<float>(attribute, static_cast<float>(absent)));
}

using Evaluate = double (*)(const ForeignNode&, const std::vector<double>&);

double largest(const ForeignNode&, const std::vector<double>& x) {
  return *std::max_element(x.begin(), x.end());
}
double smallest(const ForeignNode&, const std::vector<double>& x) {
  return *std::min_element(x.begin(), x.end());
}
double clipped(const ForeignNode& node, const std::vector<double>& x) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  return std::min(std::max(x[0], parameter(node, "min", x, 1, -infinite)),
                  parameter(node, "max", x, 2, infinite));
}
double any_gelu(const ForeignNode& node, const std::vector<double>& x) {
  const bool is_tanh = node.get<std::string>("approximate", "none") == "tanh";
  return known_functions[is_tanh ? 6 : 5].function(x[0]);
}
double swish(const ForeignNode& node, const std::vector<double>& x) {
  return x[0] * sigmoid(static_cast<double>(node.get<float>("alpha", 1)) * x[0]);
}
double leaky(const ForeignNode& node, const std::vector<double>& x) {
  return x[0] < 0 ? static_cast<double>(node.get<float>("alpha", 0.01F)) * x[0] : x[0];
}

const std::map<std::string, std::pair<std::size_t, Evaluate>>& operators() {
  using Values = const std::vector<double>&;
  using Node = const ForeignNode&;
  static const std::map<std::string, std::pair<std::size_t, Evaluate>> all{
      {"Add", {2, [](Node, Values x) { return x[0] + x[1]; }}},
      {"Sub", {2, [](Node, Values x) { return x[0] - x[1]; }}},
      {"Mul", {2, [](Node, Values x) { return x[0] * x[1]; }}},
      {"Div", {2, [](Node, Values x) { return x[0] / x[1]; }}},
      {"Pow", {2, [](Node, Values x) { return std::pow(x[0], x[1]); }}},
      {"Sqrt", {1, [](Node, Values x) { return std::sqrt(x[0]); }}},
      {"Exp", {1, [](Node, Values x) { return std::exp(x[0]); }}},
      {"Log", {1, [](Node, Values x) { return std::log(x[0]); }}},
      {"Neg", {1, [](Node, Values x) { return -x[0]; }}},
      {"Abs", {1, [](Node, Values x) { return std::abs(x[0]); }}},
      {"Reciprocal", {1, [](Node, Values x) { return 1 / x[0]; }}},
      {"Erf", {1, [](Node, Values x) { return std::erf(x[0]); }}},
      {"Tanh", {1, [](Node, Values x) { return std::tanh(x[0]); }}},
      {"Sigmoid", {1, [](Node, Values x) { return sigmoid(x[0]); }}},
      {"Relu", {1, [](Node, Values x) { return std::max(x[0], 0.); }}},
      {"Softplus", {1, [](Node, Values x) { return std::log1p(std::exp(x[0])); }}},
      {"LeakyRelu", {1, leaky}},
      {"Gelu", {1, any_gelu}},
      {"com.microsoft.Gelu", {1, any_gelu}},
      {"Swish", {1, swish}},
      {"Max", {1, largest}},
      {"Min", {1, smallest}},
      {"Clip", {1, clipped}}};
  return all;
}

/// The nodes that compute one value from one other, as they are collected.
class Group {
 public:
  explicit Group(const ForeignGraph& graph, const std::map<std::string, std::size_t>& producers)
      : graph_(graph), producers_(producers) {}

  /// Adds a node. Returns false if it cannot belong to a function of one value.
  bool add(std::size_t node) {
    const ForeignNode& at = graph_.nodes[node];
    const auto found = operators().find(at.op);
    const bool is_known = found != operators().end() && at.inputs.size() >= found->second.first &&
                          at.outputs.size() == 1 && nodes_.size() < max_nodes;
    if (!is_known) return false;
    for (const std::string& input : at.inputs) {
      const auto constant = graph_.constants.find(input);
      if (input.empty()) continue;
      if (constant == graph_.constants.end())
        open_.insert(input);
      else if (constant->second.is_integer || constant->second.size() != 1)
        return false;
    }
    open_.erase(at.outputs.front());
    nodes_.insert(node);
    return true;
  }

  /// The values that the group reads; the one that is computed last.
  [[nodiscard]] const std::set<std::string>& open() const { return open_; }
  [[nodiscard]] const std::set<std::size_t>& nodes() const { return nodes_; }
  [[nodiscard]] std::optional<std::size_t> latest_producer() const {
    std::optional<std::size_t> latest;
    for (const std::string& value : open_) {
      const auto found = producers_.find(value);
      if (found != producers_.end() && (!latest || found->second > *latest)) latest = found->second;
    }
    return latest;
  }

  /// Returns the value of the last node where the value that the group reads is x.
  [[nodiscard]] double at(double x) const {
    std::map<std::string, double> values{{*open_.begin(), x}};
    double result = x;
    for (const std::size_t node : nodes_) {  // in the graph's order
      const ForeignNode& of = graph_.nodes[node];
      std::vector<double> inputs;
      for (const std::string& input : of.inputs) {
        const auto constant = graph_.constants.find(input);
        if (input.empty())
          inputs.push_back(std::numeric_limits<double>::quiet_NaN());
        else if (constant != graph_.constants.end())
          inputs.push_back(static_cast<double>(constant->second.reals[0]));
        else
          inputs.push_back(values.at(input));
      }
      result = operators().at(of.op).second(of, inputs);
      values[of.outputs.front()] = result;
    }
    return result;
  }

 private:
  const ForeignGraph& graph_;
  const std::map<std::string, std::size_t>& producers_;
  std::set<std::size_t> nodes_;
  std::set<std::string> open_;
};

/// Returns whether no node outside of the group, nor an output of the graph, reads a value inside it.
bool is_closed(const ForeignGraph& graph, const Group& group, const std::map<std::string, int>& uses) {
  std::map<std::string, int> inside;
  for (const std::size_t node : group.nodes()) {
    for (const std::string& input : graph.nodes[node].inputs) ++inside[input];
  }
  const std::size_t last = *group.nodes().rbegin();
  return std::all_of(group.nodes().begin(), group.nodes().end(), [&](std::size_t node) {
    const std::string& output = graph.nodes[node].outputs.front();
    return node == last || inside[output] == uses.at(output);
  });
}

struct Found {
  std::set<std::size_t> nodes;
  std::string input;
  std::string function;
};

/// Returns the smallest group that ends in this node and is a known function.
std::optional<Found> function_ending_in(const ForeignGraph& graph, std::size_t last,
                                        const std::map<std::string, std::size_t>& producers,
                                        const std::map<std::string, int>& uses) {
  Group group(graph, producers);
  std::optional<std::size_t> next = last;
  while (next && group.add(*next)) {
    if (group.open().size() == 1 && is_closed(graph, group, uses)) {
      const auto name = named_function([&](double x) { return group.at(x); });
      if (name) return Found{group.nodes(), *group.open().begin(), *name};
    }
    next = group.latest_producer();
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> named_function(const std::function<double(double)>& function) {
  constexpr double tolerance = 2e-6;  // of constants rounded to float
  for (const Named& known : known_functions) {
    const bool is_same = std::all_of(sample_points.begin(), sample_points.end(), [&](double point) {
      for (const double x : {point, -point}) {
        const double expected = known.function(x);
        if (!(std::abs(function(x) - expected) <= tolerance * (1 + std::abs(expected)))) return false;
      }
      return true;
    });
    if (is_same) return known.name;
  }
  return std::nullopt;
}

ForeignGraph with_activations(ForeignGraph graph) {
  const auto producers = producers_of(graph);
  const auto uses = count_uses(graph);
  std::vector<bool> removed(graph.nodes.size(), false);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (removed[i]) continue;
    const auto found = function_ending_in(graph, i, producers, uses);
    if (!found) continue;
    for (const std::size_t node : found->nodes) removed[node] = node != i;
    ForeignNode& node = graph.nodes[i];
    node.op = activation_op;
    node.inputs = {found->input};
    node.attributes = {{"function", {found->function}}};
  }
  std::vector<ForeignNode> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!removed[i]) nodes.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace mylos
