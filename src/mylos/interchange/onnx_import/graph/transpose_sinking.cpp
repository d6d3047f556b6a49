#include "mylos/interchange/onnx_import/graph/transpose_sinking.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace mylos {
namespace {

/// A value that is another one with its axes permuted.
struct Permuted {
  std::string of;
  OnnxNumbers order;
};

constexpr std::string_view sunk_operators[] = {"Add",  "Sub",  "Mul",       "Div",     "Pow",  "Sqrt",
                                               "Exp",  "Neg",  "Abs",       "Erf",     "Tanh", "Sigmoid",
                                               "Relu", "Gelu", "LeakyRelu", "Softplus"};

bool is_permutation(const OnnxNumbers& order) {
  OnnxNumbers sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) return false;
  }
  return !order.empty();
}

/// first, then second.
std::optional<OnnxNumbers> composed(const OnnxNumbers& first, const OnnxNumbers& second) {
  if (first.size() != second.size()) return std::nullopt;
  OnnxNumbers both;
  for (const std::int64_t axis : second) both.push_back(first[static_cast<std::size_t>(axis)]);
  return both;
}

class Sinking {
 public:
  explicit Sinking(ForeignGraph& graph) : graph_(graph) {}

  void run() {
    std::vector<ForeignNode> nodes;
    for (ForeignNode& node : graph_.nodes) {
      for (std::string& input : node.inputs) {
        if (const auto same = same_.find(input); same != same_.end()) input = same->second;
      }
      if (node.op == "Transpose" && node.inputs.size() == 1 && node.outputs.size() == 1) merge(node);
      if (const auto order = order_of_operands(node)) {
        ForeignNode inner = node;
        for (std::string& input : inner.inputs) {
          if (const auto permuted = permuted_.find(input); permuted != permuted_.end())
            input = permuted->second.of;
        }
        inner.outputs = {node.outputs.front() + " in order"};
        const Permuted result{inner.outputs.front(), *order};
        nodes.push_back(std::move(inner));
        node = transpose(node, result);
      }
      nodes.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes);
    for (ForeignPort& output : graph_.outputs) {
      if (const auto same = same_.find(output.name); same != same_.end()) output.name = same->second;
    }
  }

 private:
  ForeignNode transpose(const ForeignNode& at, const Permuted& result) {
    permuted_[at.outputs.front()] = result;
    return {at.name, "Transpose", {result.of}, at.outputs, {{"perm", {result.order}}}};
  }

  /// Reads what an earlier Transpose reads.
  void merge(ForeignNode& node) {
    const auto* given = node.find<OnnxNumbers>("perm");
    if (given == nullptr || !is_permutation(*given)) return;
    const std::string& output = node.outputs.front();
    const auto before = permuted_.find(node.inputs[0]);
    const auto both = before == permuted_.end() ? std::nullopt : composed(before->second.order, *given);
    if (!both) {
      permuted_[output] = {node.inputs[0], *given};
      return;
    }
    if (std::is_sorted(both->begin(), both->end())) same_[output] = before->second.of;
    node = transpose(node, Permuted{before->second.of, *both});
  }

  /// Returns how all computed inputs of an elementwise node are permuted, if alike; all others must be
  /// numbers.
  [[nodiscard]] std::optional<OnnxNumbers> order_of_operands(const ForeignNode& node) const {
    const bool is_elementwise =
        std::find(std::begin(sunk_operators), std::end(sunk_operators), node.op) != std::end(sunk_operators);
    if (!is_elementwise || node.outputs.size() != 1) return std::nullopt;
    std::optional<OnnxNumbers> order;
    for (const std::string& input : node.inputs) {
      const auto constant = graph_.constants.find(input);
      if (constant != graph_.constants.end()) {
        if (constant->second.size() != 1) return std::nullopt;
        continue;
      }
      const auto permuted = permuted_.find(input);
      if (permuted == permuted_.end() || (order && *order != permuted->second.order)) return std::nullopt;
      order = permuted->second.order;
    }
    return order;
  }

  ForeignGraph& graph_;
  std::map<std::string, Permuted> permuted_;
  std::map<std::string, std::string> same_;
};

}  // namespace

ForeignGraph with_transposes_sunk(ForeignGraph graph) {
  Sinking(graph).run();
  return graph;
}

}  // namespace mylos
