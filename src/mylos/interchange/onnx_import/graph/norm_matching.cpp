#include "mylos/interchange/onnx_import/graph/norm_matching.hpp"

#include <optional>
#include <string_view>

#include "mylos/interchange/onnx_import/graph/graph_order.hpp"

namespace mylos {
namespace {

struct Mean {
  std::string of;
  OnnxNumbers axes;
};

struct RootNorm {
  std::string input;
  bool subtracts = false;
  float epsilon = 0;
  OnnxNumbers axes;
  std::string scale = {};  // of TensorFlow's form, which has both
  std::string shift = {};
};

/// Reads a graph from the results of nodes to what they are computed of.
class Matcher {
 public:
  explicit Matcher(const ForeignGraph& graph) : graph_(graph), producers_(producers_of(graph)) {}

  /// x / sqrt(v), or x times 1 / sqrt(v).
  [[nodiscard]] std::optional<RootNorm> norm_at(const ForeignNode& node) const {
    if (node.op == "Div") return norm_of(node.inputs[0], radicand(node.inputs[1]));
    if (node.op == "Add") return tensorflow_norm(node);
    if (node.op != "Mul") return std::nullopt;
    for (const std::size_t i : {0, 1}) {
      auto found = norm_of(node.inputs[i], inverse_radicand(node.inputs[1 - i]));
      if (found) return found;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] const ForeignNode* producer(const std::string& value, const char* op) const {
    const auto found = producers_.find(value);
    if (found == producers_.end() || graph_.nodes[found->second].op != op) return nullptr;
    const ForeignNode& node = graph_.nodes[found->second];
    const std::string_view name = op;
    const bool is_binary = name == "Add" || name == "Sub" || name == "Mul" || name == "Div" || name == "Pow";
    return node.has_input(0) && (!is_binary || node.inputs.size() == 2) ? &node : nullptr;
  }

  [[nodiscard]] std::optional<float> scalar(const std::string& value) const {
    const auto found = graph_.constants.find(value);
    if (found == graph_.constants.end() || found->second.is_integer || found->second.size() != 1)
      return std::nullopt;
    return found->second.reals[0];
  }

  /// v of sqrt(v); "": the value is no root.
  [[nodiscard]] std::string radicand(const std::string& value) const {
    if (const ForeignNode* root = producer(value, "Sqrt")) return root->inputs[0];
    const ForeignNode* const power = producer(value, "Pow");
    return power != nullptr && scalar(power->inputs[1]) == 0.5F ? power->inputs[0] : "";
  }

  [[nodiscard]] std::string inverse_radicand(const std::string& value) const {
    if (const ForeignNode* inverse = producer(value, "Reciprocal")) return radicand(inverse->inputs[0]);
    if (const ForeignNode* quotient = producer(value, "Div"))
      return scalar(quotient->inputs[0]) == 1.F ? radicand(quotient->inputs[1]) : "";
    const ForeignNode* const power = producer(value, "Pow");
    return power != nullptr && scalar(power->inputs[1]) == -0.5F ? power->inputs[0] : "";
  }

  [[nodiscard]] std::optional<Mean> mean(const std::string& value) const {
    const ForeignNode* const node = producer(value, "ReduceMean");
    if (node == nullptr || node->get<std::int64_t>("keepdims", 1) != 1) return std::nullopt;
    Mean found{node->inputs[0], node->get<OnnxNumbers>("axes", {})};
    if (node->has_input(1)) {
      const auto axes = graph_.constants.find(node->inputs[1]);
      if (axes == graph_.constants.end()) return std::nullopt;
      found.axes = axes->second.integers;
    }
    return found;
  }

  [[nodiscard]] bool is_square(const std::string& value, const std::string& of) const {
    if (const ForeignNode* product = producer(value, "Mul"))
      return product->inputs[0] == of && product->inputs[1] == of;
    const ForeignNode* const power = producer(value, "Pow");
    return power != nullptr && power->inputs[0] == of && scalar(power->inputs[1]) == 2.F;
  }

  /// TensorFlow's x g + (shift - mean g) with g = scale / sqrt(v).
  [[nodiscard]] std::optional<RootNorm> tensorflow_norm(const ForeignNode& sum) const {
    const ForeignNode* const product = producer(sum.inputs[0], "Mul");
    if (product == nullptr) return std::nullopt;
    const ForeignNode* const factor = producer(product->inputs[1], "Mul");
    if (factor == nullptr || !graph_.constants.contains(factor->inputs[1])) return std::nullopt;
    const std::string variance = inverse_radicand(factor->inputs[0]);
    const ForeignNode* const shifted = producer(sum.inputs[1], "Add");
    const ForeignNode* const moved = shifted == nullptr ? nullptr : producer(shifted->inputs[0], "Mul");
    const bool has_shift = moved != nullptr && graph_.constants.contains(shifted->inputs[1]) &&
                           moved->inputs[1] == product->inputs[1];
    const ForeignNode* const minus = has_shift ? producer(moved->inputs[0], "Neg") : nullptr;
    const ForeignNode* const root = producer(variance, "Add");
    if (minus == nullptr || root == nullptr) return std::nullopt;
    const auto epsilon = scalar(root->inputs[1]);
    const auto squares = mean(root->inputs[0]);
    const auto centre = mean(minus->inputs[0]);
    const ForeignNode* const square = squares ? producer(squares->of, "Mul") : nullptr;
    const ForeignNode* const difference = square == nullptr ? nullptr : producer(square->inputs[0], "Sub");
    const bool is_norm =
        difference != nullptr && epsilon && centre && square->inputs[0] == square->inputs[1] &&
        difference->inputs[0] == product->inputs[0] && difference->inputs[1] == minus->inputs[0] &&
        centre->of == product->inputs[0] && centre->axes == squares->axes;
    if (!is_norm) return std::nullopt;
    return RootNorm{product->inputs[0], true, *epsilon, centre->axes, factor->inputs[1], shifted->inputs[1]};
  }

  [[nodiscard]] std::optional<RootNorm> norm_of(const std::string& x, const std::string& v) const {
    const ForeignNode* const sum = producer(v, "Add");
    if (sum == nullptr) return std::nullopt;
    for (const std::size_t i : {0, 1}) {
      const auto epsilon = scalar(sum->inputs[1 - i]);
      const auto variance = mean(sum->inputs[i]);
      if (!epsilon || !variance || !is_square(variance->of, x)) continue;
      if (const ForeignNode* difference = producer(x, "Sub")) {
        const auto subtracted = mean(difference->inputs[1]);
        if (subtracted && subtracted->of == difference->inputs[0] && subtracted->axes == variance->axes)
          return RootNorm{difference->inputs[0], true, *epsilon, variance->axes};
      }
      return RootNorm{x, false, *epsilon, variance->axes};
    }
    return std::nullopt;
  }

  const ForeignGraph& graph_;
  std::map<std::string, std::size_t> producers_;
};

}  // namespace

ForeignGraph with_root_norms(ForeignGraph graph) {
  std::vector<std::pair<std::size_t, RootNorm>> norms;
  const Matcher matcher(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].inputs.size() != 2) continue;
    if (auto found = matcher.norm_at(graph.nodes[i])) norms.emplace_back(i, std::move(*found));
  }
  for (const auto& [i, norm] : norms) {
    if (!norm.scale.empty()) {
      const ForeignNode& last = graph.nodes[i];
      const std::string normed = last.name + " normalised";
      const std::string scaled = last.name + " scaled";
      const std::string output = last.outputs.front();
      const std::string name = last.name;
      graph.nodes[i] = {name, "", {}, {normed}};
      graph.nodes.push_back({name, "Mul", {normed, norm.scale}, {scaled}});
      graph.nodes.push_back({name, "Add", {scaled, norm.shift}, {output}});
    }
    ForeignNode& node = graph.nodes[i];
    node.op = root_norm_op;
    node.inputs = {norm.input};
    node.attributes = {
        {"subtracts", {std::int64_t{norm.subtracts}}}, {"epsilon", {norm.epsilon}}, {"axes", {norm.axes}}};
  }
  return in_order(std::move(graph));  // without what only the norms read
}

}  // namespace mylos
