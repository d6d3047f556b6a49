#include "mylos/interchange/onnx_import/gpt/token_network.hpp"

#include <algorithm>
#include <string_view>

#include "mylos/interchange/onnx_import/gpt/token_reader.hpp"
#include "mylos/interchange/onnx_import/graph/activation_matching.hpp"
#include "mylos/interchange/onnx_import/graph/norm_matching.hpp"

namespace mylos {
namespace {

/// Returns whether a constant has a number for each column.
bool is_of_columns(const ForeignTensor& constant, std::int64_t columns) {
  return !constant.is_integer && !constant.dims.empty() && constant.dims.back() == columns &&
         static_cast<std::int64_t>(constant.size()) == columns;
}

using ReadTokens = void (*)(TokenReader&, const ForeignNode&);

void read_gather(TokenReader& reader, const ForeignNode& node) {
  if (reader.value(node, 0) != nullptr) return reader.take_one(node);
  const ForeignTensor* const table = reader.constant(node, 0);
  const TokenValue* const tokens = reader.value(node, 1);
  const bool is_embedding = table != nullptr && tokens != nullptr && table->dims.size() == 2 &&
                            table->size() > 0 && !table->is_integer &&
                            node.get<std::int64_t>("axis", 0) == 0 && tokens->scale == 1 &&
                            reader.step(*tokens).op == TokenOp::tokens;
  if (!is_embedding) reader.refuse(node, "is not the embedding of the tokens");
  TokenAxes axes = tokens->axes;
  axes.axes.emplace_back();
  const std::int64_t columns = table->dims[1];
  reader.add(node, {.op = TokenOp::embedding, .columns = columns, .matrix = &table->reals},
             TokenReader::with_columns(std::move(axes), columns));
}

/// Of a value and a bias, positions or a mask, or of two values.
void read_add(TokenReader& reader, const ForeignNode& node) {
  if (reader.read_rotation_half(node)) return;
  const TokenValue* const a = reader.value(node, 0);
  const TokenValue* const b = reader.value(node, 1);
  if (a != nullptr && b != nullptr) {
    if (a->axes != b->axes || !reader.is_rows(*a) || !reader.is_rows(*b) || node.op != "Add")
      reader.refuse(node, "of two values that are not both [batch, tokens, width]");
    return reader.add(node, {.op = TokenOp::sum, .columns = reader.step(*a).columns, .reads = {*a, *b}},
                      a->axes);
  }
  const std::size_t i = a != nullptr ? 0 : 1;
  const ForeignTensor* const constant = reader.constant(node, 1 - i);
  if (constant == nullptr || constant->is_integer || node.op != "Add")
    reader.refuse(node, "is not of a value and a constant of real numbers");
  const TokenValue value = reader.required(node, i);
  TokenStep step = reader.step(value);
  if (step.op == TokenOp::scores) return reader.set_mask(node, value, *constant, true);
  if (!reader.is_rows(value)) reader.refuse(node, "adds constants to a part of a value");
  const bool is_embedding = step.op == TokenOp::embedding && step.weight.empty();
  if (is_embedding && value.axes.is_tokens(value.axes.axes.size() - 2)) {
    step.weight = reader.positions(node, 1 - i, step.columns);
    return reader.add(node, std::move(step), value.axes);
  }
  const bool has_bias = step.op == TokenOp::linear || step.op == TokenOp::norm;
  if (!has_bias || !step.bias.empty() || !is_of_columns(*constant, step.columns))
    reader.refuse(node, "adds a constant to what no bias follows");
  step.bias = constant->reals;
  reader.add(node, std::move(step), value.axes);
}

void read_mul(TokenReader& reader, const ForeignNode& node) {
  if (reader.read_rotation_product(node)) return;
  const TokenValue* const a = reader.value(node, 0);
  const TokenValue* const b = reader.value(node, 1);
  if (a != nullptr && b != nullptr) {
    const bool is_swapped = reader.step(*b).op == TokenOp::activation;
    const TokenStep& gate = reader.step(is_swapped ? *b : *a);
    const bool is_gated = gate.op == TokenOp::activation && gate.function == "silu" && a->axes == b->axes &&
                          reader.is_rows(*a) && reader.is_rows(*b) && node.op == "Mul";
    if (!is_gated) reader.refuse(node, "of two values is not silu(x) y of a feed-forward layer");
    TokenStep step{
        .op = TokenOp::gated, .columns = gate.columns, .reads = {is_swapped ? *b : *a, is_swapped ? *a : *b}};
    return reader.add(node, std::move(step), a->axes);
  }
  const std::size_t i = a != nullptr ? 0 : 1;
  TokenValue value = reader.required(node, i);
  const ForeignTensor* const constant = reader.constant(node, 1 - i);
  if (constant == nullptr || constant->is_integer || (node.op == "Div" && i == 1))
    reader.refuse(node, "is not of a value and a constant of real numbers");
  if (constant->size() == 1) {
    const auto number = static_cast<double>(constant->reals[0]);
    value.scale *= node.op == "Mul" ? number : 1 / number;
    return reader.set(node, std::move(value));
  }
  TokenStep step = reader.step(value);
  const bool is_norm = step.op == TokenOp::norm && step.bias.empty() && reader.is_rows(value) &&
                       node.op == "Mul" && is_of_columns(*constant, step.columns);
  if (!is_norm) reader.refuse(node, "multiplies a value by constants, which Mylos does in norms");
  for (std::size_t j = 0; j < constant->size(); ++j) step.weight[j] *= constant->reals[j];
  reader.add(node, std::move(step), value.axes);
}

void add_linear(TokenReader& reader, const ForeignNode& node, bool has_outputs_first) {
  const TokenValue x = reader.required(node, 0);
  const ForeignTensor* const matrix = reader.constant(node, 1);
  const std::int64_t inputs = reader.step(x).columns;
  const bool fits = matrix != nullptr && !matrix->is_integer && matrix->dims.size() == 2 &&
                    matrix->size() > 0 && matrix->dims[has_outputs_first ? 1 : 0] == inputs &&
                    reader.is_rows(x);
  if (!fits) reader.refuse(node, "does not multiply [batch, tokens, {}] by a matrix", inputs);
  TokenStep step{.op = TokenOp::linear,
                 .columns = matrix->dims[has_outputs_first ? 0 : 1],
                 .reads = {x},
                 .matrix = &matrix->reals,
                 .is_transposed = !has_outputs_first};
  if (const ForeignTensor* bias = reader.constant_if_given(node, 2)) {
    if (static_cast<std::int64_t>(bias->size()) != step.columns || bias->is_integer)
      reader.refuse(node, "has a bias of another size than its outputs");
    step.bias = bias->reals;
  }
  reader.add(node, std::move(step), reader.with_columns(x.axes, step.columns));
}

void read_gemm(TokenReader& reader, const ForeignNode& node) {
  if (node.get<std::int64_t>("transA", 0) != 0 || node.get<float>("alpha", 1) != 1 ||
      node.get<float>("beta", 1) != 1)
    reader.refuse(node, "has a transA, alpha or beta");
  add_linear(reader, node, node.get<std::int64_t>("transB", 0) != 0);
}

void read_matmul(TokenReader& reader, const ForeignNode& node) {
  if (reader.value(node, 1) == nullptr) return add_linear(reader, node, false);
  const TokenValue a = reader.required(node, 0);
  if (reader.step(a).op == TokenOp::shares) return reader.add_attention(node, a, reader.required(node, 1));
  reader.add_scores(node, a, reader.required(node, 1));
}

/// The operator of opset 23.
void read_attention(TokenReader& reader, const ForeignNode& node) {
  const TokenValue k = reader.required(node, 1);
  const auto keys = permuted(k.axes, {0, 1, 3, 2});
  if (!keys || node.outputs.size() != 1) reader.refuse(node, "does not read [batch, heads, tokens, width]");
  if (node.get<float>("softcap", 0) != 0 || node.has_input(4) || node.has_input(5) || node.has_input(6))
    reader.refuse(node, "has a softcap or past keys and values");
  reader.add_scores(node, reader.required(node, 0), {k.step, *keys, k.scale});
  TokenValue scores = *reader.output(node);
  const double scale = static_cast<double>(node.get<float>("scale", 0));
  scores.scale *= scale == 0 ? reader.default_scale(scores) : scale;
  TokenStep step = reader.step(scores);
  step.is_causal = node.get<std::int64_t>("is_causal", 0) != 0;
  reader.add(node, step, scores.axes);
  if (const ForeignTensor* mask = reader.constant_if_given(node, 3)) {
    TokenValue masked = *reader.output(node);
    reader.set_mask(node, masked, *mask, !mask->is_integer);
  }
  reader.add_shares(node, *reader.output(node));
  reader.add_attention(node, *reader.output(node), reader.required(node, 2));
}

void read_softmax(TokenReader& reader, const ForeignNode& node) {
  const TokenValue x = reader.required(node, 0);
  const auto axis = node.get<std::int64_t>("axis", -1);
  if (reader.step(x).op != TokenOp::scores ||
      (axis != -1 && axis != static_cast<std::int64_t>(x.axes.axes.size()) - 1))
    reader.refuse(node, "is not of the scores of attention, along the tokens; a GPT of Mylos gives logits");
  reader.add_shares(node, x);
}

void read_where(TokenReader& reader, const ForeignNode& node) {
  const ForeignTensor* const mask = reader.constant(node, 0);
  const std::size_t i = reader.value(node, 1) != nullptr ? 1 : 2;
  const TokenValue x = reader.required(node, i);
  const ForeignTensor* const other = reader.constant(node, 3 - i);
  if (mask == nullptr || other == nullptr || other->is_integer || !mask->is_integer)
    reader.refuse(node, "is not of a mask, a value and a constant");
  const auto takes_x = [&](std::int64_t bit) { return (bit != 0) == (i == 1); };
  if (std::all_of(mask->integers.begin(), mask->integers.end(), takes_x)) return reader.set(node, x);
  ForeignTensor added{.dims = mask->dims};
  if (other->size() != 1) reader.refuse(node, "puts several numbers in the place of scores");
  for (const std::int64_t bit : mask->integers) added.reals.push_back(takes_x(bit) ? 0.F : other->reals[0]);
  reader.set_mask(node, x, added, true);
}

void read_norm(TokenReader& reader, const ForeignNode& node) {
  const TokenValue x = reader.required(node, 0);
  if (!reader.is_rows(x)) reader.refuse(node, "is not of [batch, tokens, width]");
  const std::int64_t columns = reader.step(x).columns;
  TokenStep step{.op = TokenOp::norm,
                 .columns = columns,
                 .reads = {x},
                 .weight = std::vector<float>(static_cast<std::size_t>(columns), 1.F),
                 .norm = NormType::layernorm};
  const bool is_root = node.op == root_norm_op;
  const bool subtracts = node.get<std::int64_t>("subtracts", 1) != 0;
  if (node.op == "RMSNormalization" || (is_root && !subtracts)) step.norm = NormType::rmsnorm;
  const auto rank = static_cast<std::int64_t>(x.axes.axes.size());
  std::int64_t axis = node.get<std::int64_t>("axis", -1);
  if (is_root) {
    const auto axes = node.get<OnnxNumbers>("axes", {});
    axis = axes.size() == 1 ? axes[0] : 0;
  }
  const float epsilon = node.get<float>("epsilon", is_root ? 0 : 1e-5F);
  if ((axis != -1 && axis != rank - 1) || epsilon < 0.99e-5F || epsilon > 1.01e-5F)
    reader.refuse(node, "has axis {} and an epsilon of {:g}; norms of Mylos have the last axis and 1e-5",
                  axis, epsilon);
  for (const std::size_t i : {1, 2}) {
    const ForeignTensor* const given = reader.constant_if_given(node, i);
    if (given == nullptr) continue;
    if (static_cast<std::int64_t>(given->size()) != columns || given->is_integer)
      reader.refuse(node, "has weights of another size than the {} columns", columns);
    (i == 1 ? step.weight : step.bias) = given->reals;
  }
  reader.add(node, std::move(step), x.axes);
}

void read_activation(TokenReader& reader, const ForeignNode& node) {
  const TokenValue x = reader.required(node, 0);
  const auto function = node.get<std::string>("function", "");
  if (function == "identity") return reader.set(node, x);
  reader.add(
      node,
      {.op = TokenOp::activation, .columns = reader.step(x).columns, .reads = {x}, .function = function},
      x.axes);
}

const std::map<std::string_view, ReadTokens>& token_operators() {
  static const std::map<std::string_view, ReadTokens> table{
      {"Gather", read_gather},
      {"Add", read_add},
      {"Sub", read_add},
      {"Mul", read_mul},
      {"Div", read_mul},
      {"MatMul", read_matmul},
      {"Gemm", read_gemm},
      {"Attention", read_attention},
      {"Softmax", read_softmax},
      {"Where", read_where},
      {"LayerNormalization", read_norm},
      {"RMSNormalization", read_norm},
      {root_norm_op, read_norm},
      {activation_op, read_activation},
      {"Cast",
       [](TokenReader& reader, const ForeignNode& node) { reader.set(node, reader.required(node, 0)); }},
      {"IsNaN", [](TokenReader& reader, const ForeignNode& node) { reader.set_false(node); }},
      {"Concat", [](TokenReader& reader, const ForeignNode& node) { reader.read_rotation(node); }},
      {"Reshape", [](TokenReader& reader, const ForeignNode& node) { reader.reshape(node); }},
      {"Squeeze", [](TokenReader& reader, const ForeignNode& node) { reader.squeeze(node); }},
      {"Unsqueeze", [](TokenReader& reader, const ForeignNode& node) { reader.unsqueeze(node); }},
      {"Transpose", [](TokenReader& reader, const ForeignNode& node) { reader.transpose(node); }},
      {"Slice", [](TokenReader& reader, const ForeignNode& node) { reader.slice(node); }},
      {"Split", [](TokenReader& reader, const ForeignNode& node) { reader.split(node); }}};
  return table;
}

}  // namespace

TokenNetwork read_token_network(const ForeignGraph& graph, std::int64_t batch, std::int64_t tokens) {
  TokenReader reader(graph, batch, tokens);
  for (const ForeignNode& node : graph.nodes) {
    if (node.outputs.empty() || reader.fold(node)) continue;
    const auto found = token_operators().find(node.op);
    if (found == token_operators().end()) reader.refuse(node, "is not supported in a network of tokens");
    found->second(reader, node);
  }
  return reader.take();
}

}  // namespace mylos
