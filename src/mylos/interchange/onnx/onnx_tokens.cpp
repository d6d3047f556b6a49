#include "mylos/interchange/onnx/onnx_tokens.hpp"

#include <cmath>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/model/onnx/onnx_norms.hpp"

namespace mylos {
namespace {

constexpr std::size_t token_rank = 3;  // [batch, tokens, width]

class GptGraph {
 public:
  GptGraph(OnnxBuilder& graph, const ModelOptions& model, const Chain& chain, const ReadOnnxWeight& read)
      : graph_(graph), model_(model), chain_(chain), read_(read) {
    norm_.type = model.norm == NormType::rmsnorm ? NormType::rmsnorm : NormType::layernorm;
    norm_.width = model.width;
    norm_.bias = model.bias;
  }

  std::string logits(const std::string& tokens, std::int64_t known) {
    count_tokens(tokens);
    for (std::size_t i = 0; i < chain_.blocks.size(); ++i) {
      const Block& block = *chain_.blocks[i];
      graph_.begin_layer(block.signature().name);
      OnnxLayer layer(graph_, read_, block.signature(), block.parameters());
      if (i == 0) {
        embed(layer, tokens);
        continue;
      }
      x_ = graph_.cast(x_, type_, layer.type());
      type_ = layer.type();
      apply(layer, block);
    }
    const std::string result = head(known);
    graph_.begin_layer("");
    return result;
  }

 private:
  /// Sets what depends on the number of tokens alone: the mask and the angles of rotary positions.
  void count_tokens(const std::string& tokens) {
    graph_.begin_layer("positions");
    length_ = graph_.slice(graph_.node("Shape", {tokens}), 0, 1, 2);
    const std::string count = graph_.node("Squeeze", {length_, graph_.integers({0})});
    const std::string columns = graph_.node("Range", {graph_.integer(0), count, graph_.integer(1)});
    const std::string rows = graph_.node("Unsqueeze", {columns, graph_.integers({1})});
    mask_ = graph_.node("LessOrEqual", {columns, rows});
    if (model_.positions == PositionType::rotary) add_angles();
  }

  /// Returns the first `tokens` rows of a table [context, columns].
  std::string rows_of(const std::string& table) {
    return graph_.node("Slice", {table, graph_.integers({0}), length_, graph_.integers({0})});
  }

  /// Adds cosines and sines, [tokens, 1, head_width / 2].
  void add_angles() {
    const std::int64_t width = model_.width / model_.heads;
    std::vector<float> cosines, sines;
    for (std::int64_t position = 0; position < model_.context; ++position) {
      for (std::int64_t j = 0; j < width / 2; ++j) {
        const double exponent = -2.0 * static_cast<double>(j) / static_cast<double>(width);
        const double angle = static_cast<double>(position) * std::pow(10000.0, exponent);
        cosines.push_back(static_cast<float>(std::cos(angle)));
        sines.push_back(static_cast<float>(std::sin(angle)));
      }
    }
    const OnnxNumbers dims{model_.context, 1, width / 2};
    cosines_ = rows_of(graph_.numbers("cosines", OnnxType::float32, dims, cosines));
    sines_ = rows_of(graph_.numbers("sines", OnnxType::float32, dims, sines));
  }

  void embed(OnnxLayer& layer, const std::string& tokens) {
    type_ = layer.type();
    table_ = layer.parameter("token", {model_.vocabulary, model_.width});
    table_type_ = layer.type();
    x_ = graph_.node("Gather", {table_, tokens}, {{"axis", std::int64_t{0}}});
    if (!layer.has("position")) return;
    x_ = graph_.node("Add", {x_, rows_of(layer.parameter("position", {model_.context, model_.width}))});
  }

  void apply(OnnxLayer& layer, const Block& block) {
    if (block.signature().kind == "attention") {
      const std::string normed = onnx_last_axis_norm(layer, norm_, "norm", x_);
      x_ = graph_.node("Add", {x_, layer.linear("output", attention(layer, normed), token_rank)});
    } else if (block.signature().kind == "mlp") {
      const std::string normed = onnx_last_axis_norm(layer, norm_, "norm", x_);
      x_ = graph_.node("Add", {x_, layer.linear("down", inner(layer, normed), token_rank)});
    } else if (layer.name() == "final_norm") {
      x_ = onnx_last_axis_norm(layer, norm_, "", x_);
    } else {
      fail_input(errors::unsupported_feature,
                 "layer '{}' is of the kind '{}', which `mylos export` cannot write as ONNX", layer.name(),
                 block.signature().kind);
    }
  }

  std::string inner(OnnxLayer& layer, const std::string& normed) {
    const std::string up = layer.linear("up", normed, token_rank);
    if (model_.feed_forward == FeedForwardType::gelu)
      return onnx_activation(graph_, Activation::gelu_tanh, up, type_);
    const std::string gate = layer.linear("gate", normed, token_rank);
    return graph_.node("Mul", {onnx_activation(graph_, Activation::silu, gate, type_), up});
  }

  /// Returns q, k or v, [batch, tokens, heads, head_width], from qkv.
  std::string heads_of(const std::string& qkv, std::int64_t which) {
    const std::string part = graph_.slice(qkv, 2, which * model_.width, (which + 1) * model_.width);
    return graph_.reshape(part, {0, 0, model_.heads, model_.width / model_.heads});
  }

  std::string rotated(const std::string& value) {
    if (model_.positions != PositionType::rotary) return value;
    constexpr std::int64_t axis = 3;
    const std::int64_t half = model_.width / model_.heads / 2;
    const std::string x = graph_.cast(value, type_, OnnxType::float32);
    const std::string low = graph_.slice(x, axis, 0, half);
    const std::string high = graph_.slice(x, axis, half, 2 * half);
    const auto product = [&](const std::string& a, const std::string& b) {
      return graph_.node("Mul", {a, b});
    };
    const std::string first = graph_.node("Sub", {product(low, cosines_), product(high, sines_)});
    const std::string second = graph_.node("Add", {product(low, sines_), product(high, cosines_)});
    return graph_.cast(graph_.node("Concat", {first, second}, {{"axis", axis}}), OnnxType::float32, type_);
  }

  std::string attention(OnnxLayer& layer, const std::string& normed) {
    const std::string qkv = layer.linear("qkv", normed, token_rank);
    const auto head_width = static_cast<float>(model_.width / model_.heads);
    const std::string q =
        graph_.node("Mul", {rotated(heads_of(qkv, 0)), graph_.scalar(1 / std::sqrt(head_width), type_)});
    const std::string by_head = graph_.transpose(q, {0, 2, 1, 3});
    const std::string keys = graph_.transpose(rotated(heads_of(qkv, 1)), {0, 2, 3, 1});
    const std::string values = graph_.transpose(heads_of(qkv, 2), {0, 2, 1, 3});
    const std::string scores = graph_.cast(graph_.node("MatMul", {by_head, keys}), type_, OnnxType::float32);
    const std::string masked = graph_.node(
        "Where", {mask_, scores, graph_.scalar(-std::numeric_limits<float>::infinity(), OnnxType::float32)});
    const std::string shares =
        graph_.cast(graph_.node("Softmax", {masked}, {{"axis", std::int64_t{-1}}}), OnnxType::float32, type_);
    const std::string sums = graph_.transpose(graph_.node("MatMul", {shares, values}), {0, 2, 1, 3});
    return graph_.reshape(sums, {0, 0, model_.width});
  }

  std::string head(std::int64_t known) {
    const Signature& signature = chain_.head->signature();
    graph_.begin_layer(signature.name);
    OnnxLayer layer(graph_, read_, signature, chain_.head->parameters());
    x_ = graph_.cast(x_, type_, layer.type());
    std::string logits;
    if (chain_.head->borrows()) {
      const std::string weight = graph_.cast(table_, table_type_, layer.type());
      logits = graph_.node("MatMul", {x_, graph_.transpose(weight, {1, 0})});
    } else {
      logits = layer.linear("", x_, token_rank);
    }
    if (known > 0 && known < model_.vocabulary) logits = graph_.slice(logits, 2, 0, known);
    return graph_.cast(logits, layer.type(), OnnxType::float32);
  }

  OnnxBuilder& graph_;
  const ModelOptions& model_;
  const Chain& chain_;
  const ReadOnnxWeight& read_;
  Norm norm_;
  std::string length_;  // number of tokens, [1]
  std::string mask_;    // [tokens, tokens], whether a token sees another
  std::string cosines_, sines_;
  std::string table_;  // of the token embedding
  OnnxType table_type_ = OnnxType::float32;
  std::string x_;
  OnnxType type_ = OnnxType::float32;  // of x_
};

}  // namespace

std::string onnx_gpt(OnnxBuilder& graph, const ModelOptions& model, const Chain& chain,
                     const ReadOnnxWeight& read, const std::string& tokens, std::int64_t known) {
  return GptGraph(graph, model, chain, read).logits(tokens, known);
}

}  // namespace mylos
