#include "mylos/interchange/onnx_import/graph/constant_folding.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "mylos/interchange/onnx_import/graph/broadcasting.hpp"
#include "mylos/interchange/onnx_import/graph/constant_slicing.hpp"

namespace mylos {
namespace {

using Inputs = std::vector<const ForeignTensor*>;
using Result = std::optional<ForeignTensor>;

constexpr std::int64_t max_new = 65536;  // numbers that a node makes of few
constexpr std::size_t max_folded_axes = 8;

bool has(const Inputs& inputs, std::size_t i) {
  return i < inputs.size() && inputs[i] != nullptr;
}

/// The numbers of an input, or of the attribute that older opsets have instead.
OnnxNumbers numbers_of(const ForeignNode& node, const Inputs& inputs, std::size_t i, const char* attribute) {
  if (has(inputs, i)) return inputs[i]->integers;
  return node.get<OnnxNumbers>(attribute, {});
}

Result constant(const ForeignNode& node) {
  if (const auto* value = node.find<ForeignTensor>("value")) return *value;
  if (const auto* value = node.find<float>("value_float")) return ForeignTensor{.reals = {*value}};
  if (const auto* value = node.find<std::int64_t>("value_int"))
    return ForeignTensor{.is_integer = true, .integers = {*value}};
  if (const auto* values = node.find<OnnxNumbers>("value_ints"))
    return ForeignTensor{{static_cast<std::int64_t>(values->size())}, true, {}, *values};
  if (const auto* values = node.find<std::vector<float>>("value_floats"))
    return ForeignTensor{{static_cast<std::int64_t>(values->size())}, false, *values, {}};
  return std::nullopt;
}

Result cast(const ForeignNode& node, const ForeignTensor& x) {
  constexpr std::int64_t real_types[] = {1, 10, 11, 16};
  constexpr std::int64_t integer_types[] = {6, 7};
  const auto to = node.get<std::int64_t>("to", 0);
  const auto is_in = [&](const auto& types) {
    return std::find(std::begin(types), std::end(types), to) != std::end(types);
  };
  if (is_in(real_types)) {
    if (!x.is_integer) return x;
    ForeignTensor result{.dims = x.dims};
    for (const std::int64_t value : x.integers) {
      if (value == batch_extent) return std::nullopt;
      result.reals.push_back(static_cast<float>(value));
    }
    return result;
  }
  if (!is_in(integer_types)) return std::nullopt;
  if (x.is_integer) return x;
  ForeignTensor result{.dims = x.dims, .is_integer = true};
  for (const float value : x.reals) {
    constexpr float largest = 1e15F;
    if (!(std::abs(value) < largest)) return std::nullopt;
    result.integers.push_back(static_cast<std::int64_t>(value));
  }
  return result;
}

Result reshaped(const ForeignTensor& x, OnnxNumbers dims) {
  const auto size = static_cast<std::int64_t>(x.size());
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && i < x.dims.size()) dims[i] = x.dims[i];
    if (dims[i] == -1) {
      if (open) return std::nullopt;
      open = i;
      continue;
    }
    if (dims[i] < 0 || (dims[i] > 1 && dims[i] > size / std::max<std::int64_t>(1, known)))
      return std::nullopt;
    known *= dims[i];
  }
  if (open) {
    if (known == 0 || size % known != 0) return std::nullopt;
    dims[*open] = size / known;
  } else if (known != size) {
    return std::nullopt;
  }
  ForeignTensor result = x;
  result.dims = std::move(dims);
  return result;
}

Result unsqueezed(const ForeignNode& node, const Inputs& inputs) {
  OnnxNumbers dims = inputs[0]->dims;
  OnnxNumbers axes = numbers_of(node, inputs, 1, "axes");
  const std::size_t rank = dims.size() + axes.size();
  if (rank > max_folded_axes) return std::nullopt;
  for (std::int64_t& axis : axes) {
    const auto at = folded_axis(axis, rank);
    if (!at) return std::nullopt;
    axis = static_cast<std::int64_t>(*at);
  }
  std::sort(axes.begin(), axes.end());
  for (const std::int64_t axis : axes) {
    if (axis > static_cast<std::int64_t>(dims.size())) return std::nullopt;
    dims.insert(dims.begin() + axis, 1);
  }
  return reshaped(*inputs[0], dims);
}

Result squeezed(const ForeignNode& node, const Inputs& inputs) {
  const OnnxNumbers axes = numbers_of(node, inputs, 1, "axes");
  const OnnxNumbers& from = inputs[0]->dims;
  std::vector<bool> drops(from.size(), false);
  for (std::size_t i = 0; i < from.size(); ++i) drops[i] = axes.empty() && from[i] == 1;
  for (const std::int64_t axis : axes) {
    const auto at = folded_axis(axis, from.size());
    if (!at || from[*at] != 1) return std::nullopt;
    drops[*at] = true;
  }
  OnnxNumbers dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!drops[i]) dims.push_back(from[i]);
  }
  return reshaped(*inputs[0], dims);
}

Result permuted(const ForeignNode& node, const ForeignTensor& x) {
  OnnxNumbers order = node.get<OnnxNumbers>("perm", {});
  const std::size_t rank = x.dims.size();
  if (order.empty()) {
    order.resize(rank);
    std::iota(order.rbegin(), order.rend(), 0);
  }
  OnnxNumbers sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) return std::nullopt;
  }
  if (order.size() != rank) return std::nullopt;
  OnnxNumbers dims;
  std::vector<std::size_t> steps(rank, 1);
  for (std::size_t i = rank; i-- > 1;) steps[i - 1] = steps[i] * static_cast<std::size_t>(x.dims[i]);
  for (const std::int64_t axis : order) dims.push_back(x.dims[static_cast<std::size_t>(axis)]);
  std::vector<std::size_t> indices(x.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::size_t rest = i;
    for (std::size_t axis = rank; axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(dims[axis]);
      indices[i] += rest % extent * steps[static_cast<std::size_t>(order[axis])];
      rest /= extent;
    }
  }
  return picked(x, dims, indices);
}

/// Of vectors and scalars only, as shapes are.
Result concatenated(const Inputs& inputs) {
  ForeignTensor result{.is_integer = inputs[0]->is_integer};
  for (const ForeignTensor* part : inputs) {
    if (part == nullptr || part->dims.size() != 1 || part->is_integer != result.is_integer)
      return std::nullopt;
    result.integers.insert(result.integers.end(), part->integers.begin(), part->integers.end());
    result.reals.insert(result.reals.end(), part->reals.begin(), part->reals.end());
  }
  if (result.size() > static_cast<std::size_t>(max_new)) return std::nullopt;
  result.dims = {static_cast<std::int64_t>(result.size())};
  return result;
}

/// Of a vector only.
Result gathered(const ForeignTensor& x, const ForeignTensor& at) {
  if (x.dims.size() != 1 || !at.is_integer) return std::nullopt;
  std::vector<std::size_t> indices;
  for (const std::int64_t index : at.integers) {
    const auto found = folded_axis(index, x.size());
    if (!found) return std::nullopt;
    indices.push_back(*found);
  }
  if (indices.size() > static_cast<std::size_t>(max_new)) return std::nullopt;
  return picked(x, at.dims, indices);
}

Result filled(const ForeignNode& node, const ForeignTensor& shape) {
  const auto size = elements_of(shape.integers, max_new);
  if (!shape.is_integer || !size) return std::nullopt;
  const ForeignTensor zero{.reals = {0}};
  const auto* value = node.find<ForeignTensor>("value");
  const ForeignTensor& of = value == nullptr ? zero : *value;
  if (of.size() != 1) return std::nullopt;
  return picked(of, shape.integers, std::vector<std::size_t>(static_cast<std::size_t>(*size), 0));
}

double combined(const std::string& op, double a, double b) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Pow") return std::pow(a, b);
  return a / b;
}

Result elementwise(const std::string& op, const ForeignTensor& a, const ForeignTensor& b) {
  const auto dims = broadcast(a.dims, b.dims);
  if (!dims || a.is_integer != b.is_integer) return std::nullopt;
  const auto size =
      elements_of(*dims, std::max<std::int64_t>(max_new, static_cast<std::int64_t>(a.size() + b.size())));
  if (!size) return std::nullopt;
  ForeignTensor result{.dims = *dims, .is_integer = a.is_integer};
  for (std::size_t i = 0; i < static_cast<std::size_t>(*size); ++i) {
    const std::size_t of_a = broadcast_index(*dims, a.dims, i);
    const std::size_t of_b = broadcast_index(*dims, b.dims, i);
    if (!a.is_integer) {
      result.reals.push_back(static_cast<float>(combined(op, a.reals[of_a], b.reals[of_b])));
      continue;
    }
    constexpr std::int64_t largest = std::int64_t{1} << 30;
    const std::int64_t x = a.integers[of_a];
    const std::int64_t y = b.integers[of_b];
    const bool is_small = x > -largest && x < largest && y > -largest && y < largest;
    if (!is_small || op == "Pow" || (op == "Div" && (x < 0 || y <= 0))) return std::nullopt;
    result.integers.push_back(op == "Add" ? x + y : op == "Sub" ? x - y : op == "Mul" ? x * y : x / y);
  }
  return result;
}

Result of_each(const ForeignTensor& x, const std::function<double(double)>& function) {
  if (x.is_integer) return std::nullopt;
  ForeignTensor result = x;
  for (float& value : result.reals) value = static_cast<float>(function(value));
  return result;
}

Result folded_of_one(const ForeignNode& node, const Inputs& inputs) {
  const ForeignTensor& x = *inputs[0];
  if (node.op == "Identity") return x;
  if (node.op == "Cast") return cast(node, x);
  if (node.op == "Transpose") return permuted(node, x);
  if (node.op == "Unsqueeze") return unsqueezed(node, inputs);
  if (node.op == "Squeeze") return squeezed(node, inputs);
  if (node.op == "ConstantOfShape") return filled(node, x);
  if (node.op == "Shape" && node.attributes.empty())
    return ForeignTensor{{static_cast<std::int64_t>(x.dims.size())}, true, {}, x.dims};
  if (node.op == "Sqrt") return of_each(x, [](double value) { return std::sqrt(value); });
  if (node.op == "Exp") return of_each(x, [](double value) { return std::exp(value); });
  if (node.op == "Neg") return of_each(x, [](double value) { return -value; });
  if (node.op == "Reciprocal") return of_each(x, [](double value) { return 1 / value; });
  return std::nullopt;
}

}  // namespace

std::optional<ForeignTensor> folded(const ForeignNode& node,
                                    const std::vector<const ForeignTensor*>& inputs) {
  if (node.op == "Constant") return constant(node);
  if (!has(inputs, 0)) return std::nullopt;
  if (node.op == "Concat") return concatenated(inputs);
  if (node.op == "Slice") return sliced(inputs);
  if (Result result = folded_of_one(node, inputs)) return result;
  if (!has(inputs, 1)) return std::nullopt;
  if (node.op == "Reshape") return reshaped(*inputs[0], inputs[1]->integers);
  if (node.op == "Gather" && node.get<std::int64_t>("axis", 0) == 0) return gathered(*inputs[0], *inputs[1]);
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow"}) {
    if (node.op == op) return elementwise(op, *inputs[0], *inputs[1]);
  }
  return std::nullopt;
}

ForeignGraph with_constants_folded(ForeignGraph graph) {
  // A file can ask for many numbers in few bytes: all results together have a limit.
  std::size_t left = std::size_t{1} << 22;
  for (const auto& [name, tensor] : graph.constants) left += 2 * tensor.size();
  std::vector<ForeignNode> nodes;
  for (ForeignNode& node : graph.nodes) {
    std::vector<const ForeignTensor*> inputs;
    bool is_constant = node.outputs.size() == 1;
    for (const std::string& input : node.inputs) {
      const auto found = graph.constants.find(input);
      is_constant = is_constant && (input.empty() || found != graph.constants.end());
      inputs.push_back(found == graph.constants.end() ? nullptr : &found->second);
    }
    std::optional<ForeignTensor> result;
    if (is_constant) result = folded(node, inputs);
    if (result && result->size() <= left) {
      left -= result->size();
      graph.constants[node.outputs.front()] = std::move(*result);
    } else {
      nodes.push_back(std::move(node));
    }
  }
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace mylos
