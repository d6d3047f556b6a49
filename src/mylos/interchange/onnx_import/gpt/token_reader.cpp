#include "mylos/interchange/onnx_import/gpt/token_reader.hpp"

#include <algorithm>
#include <cmath>

#include "mylos/base/errors/contents.hpp"
#include "mylos/interchange/onnx_import/graph/broadcasting.hpp"
#include "mylos/interchange/onnx_import/graph/constant_folding.hpp"
#include "mylos/interchange/onnx_import/graph/constant_masks.hpp"

namespace mylos {
namespace {

std::int64_t product_of(const OnnxNumbers& dims) {
  std::int64_t product = 1;
  for (const std::int64_t extent : dims) product *= extent;
  return product;
}

/// Returns whether numbers are 0, 1, 2 ...
bool counts(const OnnxNumbers& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != static_cast<std::int64_t>(i)) return false;
  }
  return !numbers.empty();
}

}  // namespace

TokenReader::TokenReader(const ForeignGraph& graph, std::int64_t batch, std::int64_t tokens)
    : graph_(graph), tokens_(tokens) {
  TokenAxes axes = token_rows(batch, tokens, 1);
  axes.axes.pop_back();
  network_.steps.push_back({.op = TokenOp::tokens, .columns = 1});
  values_[graph.inputs.front().name] = {0, std::move(axes)};
}

TokenNetwork TokenReader::take() {
  const auto found = values_.find(graph_.outputs.front().name);
  if (found == values_.end())
    fail_input(errors::unsupported_feature, "{}: its output does not depend on the tokens", graph_.file);
  network_.output = found->second;
  network_.computed = std::move(computed_);  // where its entries stay
  return std::move(network_);
}

const TokenValue* TokenReader::value(const ForeignNode& node, std::size_t i) const {
  const auto found = node.has_input(i) ? values_.find(node.inputs[i]) : values_.end();
  return found == values_.end() ? nullptr : &found->second;
}

TokenValue TokenReader::required(const ForeignNode& node, std::size_t i) const {
  const TokenValue* const found = value(node, i);
  if (found == nullptr) refuse(node, "reads a constant, or nothing, as its input {}", i + 1);
  return *found;
}

const ForeignTensor* TokenReader::constant(const ForeignNode& node, std::size_t i) const {
  if (!node.has_input(i)) return nullptr;
  const auto computed = computed_.find(node.inputs[i]);
  if (computed != computed_.end()) return &computed->second;
  const auto found = graph_.constants.find(node.inputs[i]);
  return found == graph_.constants.end() ? nullptr : &found->second;
}

const ForeignTensor* TokenReader::constant_if_given(const ForeignNode& node, std::size_t i) const {
  if (!node.has_input(i)) return nullptr;
  const ForeignTensor* const found = constant(node, i);
  if (found == nullptr) refuse(node, "computes its input {} (counted from 0), which is to be a constant", i);
  return found;
}

const TokenValue* TokenReader::output(const ForeignNode& node) const {
  const auto found = values_.find(node.outputs.front());
  return found == values_.end() ? nullptr : &found->second;
}

bool TokenReader::is_rows(const TokenValue& value) const {
  return value.scale == 1 && value.axes.is_rows(step(value).columns);
}

TokenAxes TokenReader::with_columns(TokenAxes axes, std::int64_t columns) {
  axes.axes.back().clear();
  if (columns > 1) axes.axes.back().push_back({AxisAtom::Kind::column, columns, 1});
  return axes;
}

void TokenReader::set(const ForeignNode& node, TokenValue value) {
  values_[node.outputs.front()] = std::move(value);
}

void TokenReader::set_false(const ForeignNode& node) {
  set_constant(node.outputs.front(), {.is_integer = true, .integers = {0}}, "");
}

void TokenReader::add(const ForeignNode& node, TokenStep step, TokenAxes axes) {
  if (step.node.empty()) step.node = describe(graph_, node);
  network_.steps.push_back(std::move(step));
  set(node, {network_.steps.size() - 1, std::move(axes)});
}

void TokenReader::set_constant(const std::string& name, ForeignTensor tensor, const std::string& rows_of) {
  numbers_left_ -= static_cast<std::int64_t>(tensor.size());
  if (numbers_left_ < 0)
    fail_input(errors::too_large, "{}: computes more than {} constants of others", graph_.file,
               std::int64_t{1} << 25);
  if (!rows_of.empty()) tables_[name] = rows_of;
  computed_[name] = std::move(tensor);
}

std::string TokenReader::table_of(const std::string& name) const {
  const auto found = tables_.find(name);
  return found == tables_.end() ? "" : found->second;
}

/// The first rows of a table of positions, by Gather or Slice: what they are rows of stays known.
bool TokenReader::fold_rows(const ForeignNode& node) {
  const ForeignTensor* const table = constant(node, 0);
  if (table == nullptr || table->is_integer || table->dims.size() < 2) return false;
  if (node.op == "Slice") {
    const ForeignTensor* const starts = constant(node, 1);
    const ForeignTensor* const axes = constant(node, 3);
    const bool is_first = starts != nullptr && starts->integers == OnnxNumbers{0} && axes != nullptr &&
                          axes->integers == OnnxNumbers{0};
    std::vector<const ForeignTensor*> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(constant(node, i));
    auto rows = folded(node, inputs);
    if (!is_first || !rows) return false;
    set_constant(node.outputs.front(), std::move(*rows), node.inputs[0]);
    return true;
  }
  const ForeignTensor* const at = constant(node, 1);
  const bool is_plain =
      node.op == "Gather" && node.get<std::int64_t>("axis", 0) == 0 && table->dims.size() == 2;
  if (!is_plain || at == nullptr || !counts(at->integers) ||
      static_cast<std::int64_t>(at->size()) > table->dims[0])
    return false;
  ForeignTensor rows{.dims = at->dims};
  rows.dims.push_back(table->dims[1]);
  const auto count = static_cast<std::ptrdiff_t>(at->size()) * table->dims[1];
  rows.reals.assign(table->reals.begin(), table->reals.begin() + count);
  set_constant(node.outputs.front(), std::move(rows), node.inputs[0]);
  return true;
}

bool TokenReader::fold(const ForeignNode& node) {
  if (node.op == "Shape" && value(node, 0) != nullptr) {
    const OnnxNumbers dims = value(node, 0)->axes.dims();
    const auto rank = static_cast<std::int64_t>(dims.size());
    const auto bound = [&](const char* attribute, std::int64_t absent) {
      const auto at = node.get<std::int64_t>(attribute, absent);
      return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    const std::int64_t first = bound("start", 0);
    const std::int64_t last = std::max(first, bound("end", rank));
    set_constant(node.outputs.front(),
                 {{last - first}, true, {}, {dims.begin() + first, dims.begin() + last}}, "");
    return true;
  }
  std::vector<const ForeignTensor*> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    inputs.push_back(constant(node, i));
    if (node.has_input(i) && inputs.back() == nullptr) return false;
  }
  if (fold_rows(node)) return true;
  auto result = folded(node, inputs);
  if (!result) result = folded_mask(node, inputs);
  if (!result) return false;
  const bool has_same = !inputs.empty() && inputs[0] != nullptr && inputs[0]->reals == result->reals;
  set_constant(node.outputs.front(), std::move(*result), has_same ? table_of(node.inputs[0]) : "");
  return true;
}

std::vector<float> TokenReader::positions(const ForeignNode& node, std::size_t i,
                                          std::int64_t columns) const {
  const ForeignTensor& rows = *constant(node, i);
  const auto expected = static_cast<std::size_t>(tokens_ * columns);
  if (rows.size() != expected || rows.dims.size() < 2 || rows.dims.back() != columns ||
      *(rows.dims.end() - 2) != tokens_)
    refuse(node, "adds a constant to the embedding that is not a row of {} numbers for each token", columns);
  const auto table = graph_.constants.find(table_of(node.inputs[i]));
  return table == graph_.constants.end() ? rows.reals : table->second.reals;
}

OnnxNumbers TokenReader::integers(const ForeignNode& node, std::size_t i, const char* attribute) const {
  if (const ForeignTensor* found = constant(node, i)) return found->integers;
  if (node.has_input(i)) refuse(node, "computes its {} from the tokens; they must be constant", attribute);
  return node.get<OnnxNumbers>(attribute, {});
}

std::size_t TokenReader::axis_of(const ForeignNode& node, std::int64_t axis, std::size_t rank) const {
  const std::int64_t at = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  if (at < 0 || at >= static_cast<std::int64_t>(rank))
    fail_input(errors::damaged, "{} works along axis {} of {}", describe(graph_, node), axis, rank);
  return static_cast<std::size_t>(at);
}

void TokenReader::set_dims(const ForeignNode& node, TokenValue value, const OnnxNumbers& dims) {
  auto axes = with_dims(value.axes, dims);
  if (!axes) refuse(node, "mixes the samples or tokens of its input with other axes");
  value.axes = std::move(*axes);
  set(node, std::move(value));
}

void TokenReader::reshape(const ForeignNode& node) {
  TokenValue x = required(node, 0);
  const OnnxNumbers from = x.axes.dims();
  OnnxNumbers dims = integers(node, 1, "shape");
  std::int64_t known = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && i < from.size()) dims[i] = from[i];
    const bool fits = dims[i] == -1 || (dims[i] > 0 && dims[i] <= product_of(from) / known);
    if (!fits) refuse(node, "does not keep the numbers of its input");
    if (dims[i] > 0) known *= dims[i];
  }
  if (std::count(dims.begin(), dims.end(), -1) > 1) refuse(node, "leaves two extents open");
  for (std::int64_t& extent : dims) extent = extent == -1 ? product_of(from) / known : extent;
  set_dims(node, std::move(x), dims);
}

void TokenReader::squeeze(const ForeignNode& node) {
  TokenValue x = required(node, 0);
  const OnnxNumbers from = x.axes.dims();
  std::vector<bool> drops(from.size(), false);
  const OnnxNumbers axes = integers(node, 1, "axes");
  for (std::size_t i = 0; i < from.size(); ++i) drops[i] = axes.empty() && from[i] == 1;
  for (const std::int64_t axis : axes) drops[axis_of(node, axis, from.size())] = true;
  OnnxNumbers dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!drops[i]) dims.push_back(from[i]);
  }
  set_dims(node, std::move(x), dims);
}

void TokenReader::unsqueeze(const ForeignNode& node) {
  TokenValue x = required(node, 0);
  OnnxNumbers dims = x.axes.dims();
  OnnxNumbers axes = integers(node, 1, "axes");
  const std::size_t rank = dims.size() + axes.size();
  if (axes.size() > 4) refuse(node, "adds {} axes", axes.size());
  for (std::int64_t& axis : axes) axis = static_cast<std::int64_t>(axis_of(node, axis, rank));
  std::sort(axes.begin(), axes.end());
  for (const std::int64_t axis : axes)
    dims.insert(dims.begin() + std::min<std::ptrdiff_t>(axis, static_cast<std::ptrdiff_t>(dims.size())), 1);
  set_dims(node, std::move(x), dims);
}

void TokenReader::transpose(const ForeignNode& node) {
  TokenValue x = required(node, 0);
  OnnxNumbers order = node.get<OnnxNumbers>("perm", {});
  for (std::size_t i = x.axes.axes.size(); order.empty() && i > 0;)
    order.push_back(static_cast<std::int64_t>(--i));
  auto axes = permuted(x.axes, order);
  if (!axes) refuse(node, "has no permutation of the axes of its input");
  x.axes = std::move(*axes);
  set(node, std::move(x));
}

void TokenReader::set_cut(const ForeignNode& node, const std::string& output, TokenValue value,
                          std::size_t axis, std::int64_t begin, std::int64_t end) {
  auto axes = cut(value.axes, axis, begin, end);
  if (!axes) refuse(node, "takes a part of the samples or tokens; Mylos gives the logits of all");
  value.axes = std::move(*axes);
  values_[output] = std::move(value);
}

void TokenReader::slice(const ForeignNode& node) {
  TokenValue x = required(node, 0);
  const OnnxNumbers starts = integers(node, 1, "starts");
  const OnnxNumbers ends = integers(node, 2, "ends");
  const OnnxNumbers axes = integers(node, 3, "axes");
  const OnnxNumbers steps = integers(node, 4, "steps");
  const bool is_plain = ends.size() == starts.size() && axes.size() == starts.size() &&
                        std::all_of(steps.begin(), steps.end(), [](std::int64_t each) { return each == 1; });
  if (!is_plain) refuse(node, "takes other parts than ranges of axes");
  set(node, x);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const TokenValue before = *output(node);
    const OnnxNumbers dims = before.axes.dims();
    const std::size_t axis = axis_of(node, axes[i], dims.size());
    const auto bound = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + dims[axis] : at, 0, dims[axis]);
    };
    set_cut(node, node.outputs.front(), before, axis, bound(starts[i]), bound(ends[i]));
  }
}

void TokenReader::split(const ForeignNode& node) {
  const TokenValue x = required(node, 0);
  const OnnxNumbers dims = x.axes.dims();
  const std::size_t axis = axis_of(node, node.get<std::int64_t>("axis", 0), dims.size());
  OnnxNumbers sizes = integers(node, 1, "split");
  const auto parts = static_cast<std::int64_t>(node.outputs.size());
  if (sizes.empty()) sizes.assign(node.outputs.size(), (dims[axis] + parts - 1) / parts);
  if (sizes.size() != node.outputs.size()) refuse(node, "has {} sizes for {} outputs", sizes.size(), parts);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1 || sizes[i] > dims[axis] - begin) refuse(node, "splits beyond the end of its input");
    set_cut(node, node.outputs[i], x, axis, begin, begin + sizes[i]);
    begin += sizes[i];
  }
}

void TokenReader::take_one(const ForeignNode& node) {
  const TokenValue x = required(node, 0);
  OnnxNumbers dims = x.axes.dims();
  const std::size_t axis = axis_of(node, node.get<std::int64_t>("axis", 0), dims.size());
  const ForeignTensor* const at = constant(node, 1);
  if (at == nullptr || at->integers.size() != 1) refuse(node, "takes other parts than one of an axis");
  const std::int64_t i = at->integers[0] < 0 ? at->integers[0] + dims[axis] : at->integers[0];
  set_cut(node, node.outputs.front(), x, axis, i, i + 1);
  if (!at->dims.empty()) return;
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  set_dims(node, *output(node), dims);
}

}  // namespace mylos
