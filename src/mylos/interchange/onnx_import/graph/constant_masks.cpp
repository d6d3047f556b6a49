#include "mylos/interchange/onnx_import/graph/constant_masks.hpp"

#include <array>
#include <functional>

#include "mylos/interchange/onnx_import/graph/broadcasting.hpp"
#include "mylos/interchange/onnx_import/graph/constant_slicing.hpp"

namespace mylos {
namespace {

using Inputs = std::vector<const ForeignTensor*>;
using Result = std::optional<ForeignTensor>;

constexpr std::int64_t max_mask = std::int64_t{1} << 22;

bool has_all(const Inputs& inputs, std::size_t count) {
  if (inputs.size() < count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (inputs[i] == nullptr) return false;
  }
  return true;
}

double at(const ForeignTensor& tensor, std::size_t i) {
  return tensor.is_integer ? static_cast<double>(tensor.integers[i]) : static_cast<double>(tensor.reals[i]);
}

Result range(const Inputs& inputs) {
  if (inputs.size() != 3) return std::nullopt;
  for (const ForeignTensor* each : inputs) {
    if (!each->is_integer || each->size() != 1) return std::nullopt;
  }
  const std::int64_t first = inputs[0]->integers[0];
  const std::int64_t end = inputs[1]->integers[0];
  const bool is_counted =
      inputs[2]->integers[0] == 1 && first >= 0 && end >= first && end - first <= max_mask;
  if (!is_counted) return std::nullopt;
  ForeignTensor result{.dims = {end - first}, .is_integer = true};
  for (std::int64_t i = first; i < end; ++i) result.integers.push_back(i);
  return result;
}

Result triangle(const ForeignNode& node, const Inputs& inputs) {
  ForeignTensor result = *inputs[0];
  const std::size_t rank = result.dims.size();
  if (rank < 2 || result.dims[rank - 1] < 1 || result.dims[rank - 2] < 1) return std::nullopt;
  const bool is_upper = node.get<std::int64_t>("upper", 1) != 0;
  std::int64_t diagonal = 0;
  if (inputs.size() > 1 && inputs[1] != nullptr) {
    if (!inputs[1]->is_integer || inputs[1]->size() != 1) return std::nullopt;
    diagonal = inputs[1]->integers[0];
  }
  const std::int64_t columns = result.dims[rank - 1];
  const std::int64_t rows = result.dims[rank - 2];
  if (diagonal < -max_mask || diagonal > max_mask) return std::nullopt;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t column = static_cast<std::int64_t>(i) % columns;
    const std::int64_t row = static_cast<std::int64_t>(i) / columns % rows;
    if (is_upper ? column - row >= diagonal : column - row <= diagonal) continue;
    if (result.is_integer)
      result.integers[i] = 0;
    else
      result.reals[i] = 0;
  }
  return result;
}

Result expanded(const ForeignTensor& x, const ForeignTensor& shape) {
  if (!shape.is_integer || !elements_of(shape.integers, max_mask)) return std::nullopt;
  const auto dims = broadcast(x.dims, shape.integers);
  const auto size = dims ? elements_of(*dims, max_mask) : std::nullopt;
  if (!size) return std::nullopt;
  std::vector<std::size_t> indices;
  for (std::int64_t i = 0; i < *size; ++i)
    indices.push_back(broadcast_index(*dims, x.dims, static_cast<std::size_t>(i)));
  return picked(x, *dims, indices);
}

Result chosen(const ForeignTensor& mask, const ForeignTensor& a, const ForeignTensor& b) {
  const auto both = broadcast(a.dims, b.dims);
  const auto dims = both ? broadcast(*both, mask.dims) : std::nullopt;
  const auto size = dims ? elements_of(*dims, max_mask) : std::nullopt;
  if (!size || !mask.is_integer || a.is_integer != b.is_integer) return std::nullopt;
  ForeignTensor result{.dims = *dims, .is_integer = a.is_integer};
  for (std::size_t i = 0; i < static_cast<std::size_t>(*size); ++i) {
    const ForeignTensor& from = mask.integers[broadcast_index(*dims, mask.dims, i)] != 0 ? a : b;
    const std::size_t j = broadcast_index(*dims, from.dims, i);
    if (from.is_integer)
      result.integers.push_back(from.integers[j]);
    else
      result.reals.push_back(from.reals[j]);
  }
  return result;
}

struct Comparison {
  const char* op;
  bool (*holds)(double, double);
};
constexpr std::array comparisons{Comparison{"Equal", [](double a, double b) { return a == b; }},
                                 Comparison{"Less", [](double a, double b) { return a < b; }},
                                 Comparison{"LessOrEqual", [](double a, double b) { return a <= b; }},
                                 Comparison{"Greater", [](double a, double b) { return a > b; }},
                                 Comparison{"GreaterOrEqual", [](double a, double b) { return a >= b; }},
                                 Comparison{"And", [](double a, double b) { return a != 0 && b != 0; }},
                                 Comparison{"Or", [](double a, double b) { return a != 0 || b != 0; }}};

Result compared(const Comparison& comparison, const ForeignTensor& a, const ForeignTensor& b) {
  const auto dims = broadcast(a.dims, b.dims);
  const auto size = dims ? elements_of(*dims, max_mask) : std::nullopt;
  if (!size || a.is_integer != b.is_integer) return std::nullopt;
  ForeignTensor result{.dims = *dims, .is_integer = true};
  for (std::size_t i = 0; i < static_cast<std::size_t>(*size); ++i)
    result.integers.push_back(
        comparison.holds(at(a, broadcast_index(*dims, a.dims, i)), at(b, broadcast_index(*dims, b.dims, i))));
  return result;
}

Result remainder_of(const ForeignTensor& a, const ForeignTensor& b) {
  if (!a.is_integer || !b.is_integer || a.size() != b.size()) return std::nullopt;
  ForeignTensor result = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (b.integers[i] < 1) return std::nullopt;
    const std::int64_t rest = a.integers[i] % b.integers[i];
    result.integers[i] = rest < 0 ? rest + b.integers[i] : rest;
  }
  return result;
}

Result as_booleans(const ForeignTensor& x, bool is_negated) {
  ForeignTensor result{.dims = x.dims, .is_integer = true};
  for (std::size_t i = 0; i < x.size(); ++i) result.integers.push_back((at(x, i) != 0) != is_negated);
  return result;
}

}  // namespace

std::optional<ForeignTensor> folded_mask(const ForeignNode& node,
                                         const std::vector<const ForeignTensor*>& inputs) {
  if (!has_all(inputs, 1)) return std::nullopt;
  constexpr std::int64_t boolean = 9;
  if (node.op == "Cast" && node.get<std::int64_t>("to", 0) == boolean) return as_booleans(*inputs[0], false);
  if (node.op == "Not") return as_booleans(*inputs[0], true);
  if (node.op == "Trilu") return triangle(node, inputs);
  if (!has_all(inputs, 2)) return std::nullopt;
  if (node.op == "Mod") return remainder_of(*inputs[0], *inputs[1]);
  if (node.op == "Expand") return expanded(*inputs[0], *inputs[1]);
  for (const Comparison& comparison : comparisons) {
    if (node.op == comparison.op) return compared(comparison, *inputs[0], *inputs[1]);
  }
  if (!has_all(inputs, 3)) return std::nullopt;
  if (node.op == "Range") return range(inputs);
  if (node.op == "Where") return chosen(*inputs[0], *inputs[1], *inputs[2]);
  return std::nullopt;
}

}  // namespace mylos
