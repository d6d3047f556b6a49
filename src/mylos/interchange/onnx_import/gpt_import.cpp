#include "mylos/interchange/onnx_import/gpt_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/interchange/onnx_import/gpt/token_network.hpp"
#include "mylos/interchange/onnx_import/graph/activation_matching.hpp"
#include "mylos/interchange/onnx_import/graph/constant_folding.hpp"
#include "mylos/interchange/onnx_import/graph/graph_order.hpp"
#include "mylos/interchange/onnx_import/graph/node_error.hpp"
#include "mylos/interchange/onnx_import/graph/norm_matching.hpp"
#include "mylos/model/network/gpt.hpp"

namespace mylos {
namespace {

using Numbers = std::vector<float>;

/// Takes a network of tokens apart from its head to its embedding.
class GptAssembly {
 public:
  GptAssembly(const std::string& file, const TokenNetwork& network) : file_(file), steps_(network.steps) {
    read_head(network.output);
    std::vector<const TokenStep*> branches;
    std::size_t stream = stream_;
    while (steps_[stream].op == TokenOp::sum) {
      const auto [before, branch] = parts_of(steps_[stream]);
      branches.push_back(&steps_[branch]);
      streams_.push_back(before);
      stream = before;
    }
    read_embedding(steps_[stream]);
    std::reverse(branches.begin(), branches.end());
    std::reverse(streams_.begin(), streams_.end());
    for (std::size_t i = 0; i < branches.size(); ++i) read_branch(*branches[i], i);
    finish();
  }

  ImportedGpt result;

 private:
  [[noreturn]] void refuse(const TokenStep& at, const std::string& what) const {
    fail_input(
        errors::unsupported_feature,
        "{}{}; a GPT of Mylos is an embedding, blocks x + attention(norm(x)) and x + mlp(norm(x)), a norm "
        "and a head",
        at.node.empty() ? file_ : at.node, what);
  }

  [[nodiscard]] const TokenStep& of(const TokenValue& value) const { return steps_[value.step]; }

  [[nodiscard]] const TokenStep& required(const TokenStep& at, std::size_t i, TokenOp op,
                                          const char* what) const {
    const TokenStep& found = of(at.reads[i]);
    if (found.op != op) refuse(at, fmt::format(" does not read {}", what));
    return found;
  }

  /// The stream before a sum, and the last matrix of the branch that is added to it.
  [[nodiscard]] std::pair<std::size_t, std::size_t> parts_of(const TokenStep& sum) const {
    for (const std::size_t i : {1, 0}) {
      const TokenOp stream = of(sum.reads[1 - i]).op;
      if (of(sum.reads[i]).op == TokenOp::linear && (stream == TokenOp::sum || stream == TokenOp::embedding))
        return {sum.reads[1 - i].step, sum.reads[i].step};
    }
    refuse(sum, " adds other values than the stream and a branch that ends in a matrix");
  }

  void set_norm(const TokenStep& norm, const std::string& path, std::size_t stream, const TokenStep& at) {
    if (norm.reads[0].step != stream) refuse(at, " normalises another value than the stream it is added to");
    NormType& type = result.model.norm;
    if (type != NormType::none && type != norm.norm) refuse(at, " has both layer and RMS normalisation");
    type = norm.norm;
    const auto [known, is_new] = result.weights.emplace(path + "weight", norm.weight);
    if (!is_new && known->second != norm.weight) refuse(at, " reads several norms");
    if (type != NormType::layernorm && !norm.bias.empty()) refuse(at, " has RMS normalisation with a bias");
    add_bias(path + "bias", norm.bias, norm.weight.size(), type == NormType::layernorm);
  }

  void add_bias(const std::string& path, Numbers bias, std::size_t size, bool is_kept = true) {
    has_bias_ = has_bias_ || !bias.empty();
    bias.resize(size, 0.F);
    if (is_kept) biases_[path] = std::move(bias);  // of a layer without one: zeros
  }

  [[nodiscard]] static Numbers row(const TokenStep& linear, std::int64_t inputs, std::int64_t output) {
    Numbers numbers(static_cast<std::size_t>(inputs));
    for (std::int64_t i = 0; i < inputs; ++i)
      numbers[static_cast<std::size_t>(i)] = (*linear.matrix)[static_cast<std::size_t>(
          linear.is_transposed ? i * linear.columns + output : output * inputs + i)];
    return numbers;
  }

  void set_linear(const TokenStep& linear, const std::string& path, std::int64_t inputs) {
    Numbers& weight = result.weights[path + "weight"];
    for (std::int64_t output = 0; output < linear.columns; ++output) {
      const Numbers next = row(linear, inputs, output);
      weight.insert(weight.end(), next.begin(), next.end());
    }
    add_bias(path + "bias", linear.bias, static_cast<std::size_t>(linear.columns));
  }

  void read_head(const TokenValue& output) {
    const TokenStep& head = of(output);
    const bool is_head = head.op == TokenOp::linear && output.axes.first == 0 && output.scale == 1 &&
                         output.axes.axes.size() == 3 && output.axes.is_batch(0) && output.axes.is_tokens(1);
    if (!is_head) refuse(head, ": the output is not the logits [batch, tokens, vocabulary]");
    if (std::any_of(head.bias.begin(), head.bias.end(), [](float each) { return each != 0; }))
      refuse(head, " has a head with a bias");
    head_ = &head;
    result.vocabulary = output.axes.dims().back();
    result.model.vocabulary = head.columns;
    const TokenStep& norm = required(head, 0, TokenOp::norm, "a norm");
    result.model.width = norm.columns;
    stream_ = norm.reads[0].step;
    set_norm(norm, "final_norm/", stream_, norm);
  }

  void read_embedding(const TokenStep& embedding) {
    ModelOptions& model = result.model;
    if (embedding.op != TokenOp::embedding) refuse(embedding, " begins with another layer than an embedding");
    const std::int64_t rows = static_cast<std::int64_t>(embedding.matrix->size()) / embedding.columns;
    if (rows != model.vocabulary)
      refuse(embedding, fmt::format(" has {} tokens, and the head {}", rows, model.vocabulary));
    result.weights["embedding/token"] = *embedding.matrix;
    model.positions = PositionType::rotary;
    if (!embedding.weight.empty()) {
      model.positions = PositionType::learned;
      result.weights["embedding/position"] = embedding.weight;
      model.context = static_cast<std::int64_t>(embedding.weight.size()) / embedding.columns;
    }
    Numbers head;
    for (std::int64_t token = 0; token < model.vocabulary; ++token) {
      const Numbers next = row(*head_, model.width, token);
      head.insert(head.end(), next.begin(), next.end());
    }
    model.tied = head == *embedding.matrix;
    if (!model.tied) result.weights["head/weight"] = std::move(head);
  }

  void read_branch(const TokenStep& last, std::size_t i) {
    const std::string layer = std::to_string(i / 2 + 1);
    const TokenStep& before = of(last.reads[0]);
    const bool is_attention = before.op == TokenOp::attention;
    if (is_attention != (i % 2 == 0)) refuse(last, " does not alternate attention and feed-forward layers");
    if (!is_attention) return read_feed_forward(last, before, "mlp" + layer + "/", streams_[i]);
    const std::string path = "attention" + layer + "/";
    read_attention(before, path, streams_[i]);
    set_linear(last, path + "output_", before.columns);
  }

  void read_attention(const TokenStep& attention, const std::string& path, std::size_t stream) {
    ModelOptions& model = result.model;
    const HeadColumns& q = attention.heads[0];
    if (model.heads != 0 && model.heads != q.heads)
      refuse(attention, " has another number of heads than the first");
    model.heads = q.heads;
    if (attention.columns != model.width || q.heads * q.width != model.width)
      refuse(attention,
             fmt::format(" has {} heads of {} numbers for a width of {}", q.heads, q.width, model.width));
    // Ours divides the scores by the root of a head's width.
    const double scale = attention.scale * std::sqrt(static_cast<double>(q.width));
    Numbers bias;
    bool has_bias = false;
    for (std::size_t i = 0; i < 3; ++i) {
      const TokenStep* step = &of(attention.reads[i]);
      const bool is_rotated = step->op == TokenOp::rotated;
      if (i < 2 && is_rotated != (model.positions == PositionType::rotary))
        refuse(attention,
               model.positions == PositionType::rotary ? " has no positions" : " has two kinds of positions");
      if (is_rotated) {
        if (i == 2) refuse(attention, " rotates its values");
        model.context = step->context;
        step = &of(step->reads[0]);
      }
      if (step->op != TokenOp::linear) refuse(attention, " does not read a matrix of a norm");
      set_norm(required(*step, 0, TokenOp::norm, "a norm"), path + "norm_", stream, attention);
      const double factor = i == 0 && std::abs(scale - 1) > 1e-6 ? scale : 1;
      has_bias = has_bias || !step->bias.empty();
      append_heads(*step, attention.heads[i], factor, result.weights[path + "qkv_weight"], bias);
    }
    add_bias(path + "qkv_bias", has_bias ? bias : Numbers{}, bias.size());
  }

  void append_heads(const TokenStep& linear, const HeadColumns& heads, double factor, Numbers& weight,
                    Numbers& bias) const {
    for (std::int64_t head = 0; head < heads.heads; ++head) {
      for (std::int64_t i = 0; i < heads.width; ++i) {
        const std::int64_t column = heads.first + head * heads.head_stride + i * heads.stride;
        Numbers next = row(linear, result.model.width, column);
        next.push_back(linear.bias.empty() ? 0.F : linear.bias[static_cast<std::size_t>(column)]);
        for (float& each : next) each = static_cast<float>(static_cast<double>(each) * factor);
        bias.push_back(next.back());
        weight.insert(weight.end(), next.begin(), next.end() - 1);
      }
    }
  }

  void read_feed_forward(const TokenStep& down, const TokenStep& inner, const std::string& path,
                         std::size_t stream) {
    FeedForwardType& type = result.model.feed_forward;
    const TokenStep* activation = &inner;
    const bool is_gated = inner.op == TokenOp::gated;
    if (is_gated) activation = &of(inner.reads[0]);
    if (path != "mlp1/" && is_gated != (type == FeedForwardType::swiglu))
      refuse(inner, " has another activation than the first block");
    type = is_gated ? FeedForwardType::swiglu : FeedForwardType::gelu;
    const char* const function = is_gated ? "silu" : "gelu_tanh";
    if (activation->op != TokenOp::activation || activation->function != function)
      refuse(down, fmt::format(" reads the activation '{}'; feed-forward layers of Mylos have gelu with tanh "
                               "(approximate=\"tanh\"), or silu(x) y",
                               activation->function));
    const TokenStep& first = required(*activation, 0, TokenOp::linear, "a matrix");
    set_norm(required(first, 0, TokenOp::norm, "a norm"), path + "norm_", stream, first);
    set_linear(first, path + (is_gated ? "gate_" : "up_"), result.model.width);
    if (is_gated) {
      const TokenStep& up = required(inner, 1, TokenOp::linear, "a matrix");
      set_norm(required(up, 0, TokenOp::norm, "a norm"), path + "norm_", stream, up);
      set_linear(up, path + "up_", result.model.width);
    }
    set_linear(down, path + "down_", inner.columns);
    widen(down, path, inner.columns);
  }

  /// Ours is as wide as the network's width says; units of zeros give 0.
  void widen(const TokenStep& at, const std::string& path, std::int64_t hidden) {
    const std::int64_t width = result.model.width;
    const std::int64_t ours = feed_forward_width(result.model);
    if (hidden > ours)
      refuse(at, fmt::format(" has {} hidden units for a width of {}; Mylos has at most {}", hidden, width,
                             ours));
    for (const char* part : {"up_", "gate_"}) {
      const auto weight = result.weights.find(path + part + "weight");
      if (weight == result.weights.end()) continue;
      weight->second.resize(static_cast<std::size_t>(ours * width), 0.F);
      biases_[path + part + "bias"].resize(static_cast<std::size_t>(ours), 0.F);
    }
    Numbers wide;
    const Numbers& down = result.weights[path + "down_weight"];
    for (std::int64_t output = 0; output < width; ++output) {
      const auto begin = down.begin() + output * hidden;
      wide.insert(wide.end(), begin, begin + hidden);
      wide.resize(static_cast<std::size_t>((output + 1) * ours), 0.F);
    }
    result.weights[path + "down_weight"] = std::move(wide);
  }

  void finish() {
    ModelOptions& model = result.model;
    model.type = ModelType::gpt;
    model.layers = static_cast<std::int64_t>(streams_.size() / 2);
    model.bias = has_bias_;
    if (model.layers < 1 || streams_.size() % 2 != 0) refuse(steps_.back(), " has no complete block");
    if (has_bias_) result.weights.merge(biases_);
  }

  const std::string& file_;
  const std::vector<TokenStep>& steps_;
  const TokenStep* head_ = nullptr;
  std::size_t stream_ = 0;                 // that the last norm reads
  std::vector<std::size_t> streams_ = {};  // that each branch reads
  NumberedWeights biases_ = {};
  bool has_bias_ = false;
};

ImportedGpt assembled_gpt(const ForeignGraph& graph, std::int64_t batch, std::int64_t tokens) {
  const TokenNetwork network = read_token_network(graph, batch, tokens);
  return std::move(GptAssembly(graph.file, network).result);
}

ForeignGraph prepared_tokens(ForeignGraph foreign) {
  ForeignGraph graph = without_identities(with_constants_folded(in_order(std::move(foreign))));
  return with_activations(with_root_norms(in_order(std::move(graph))));
}

}  // namespace

bool reads_tokens(const ForeignGraph& graph) {
  return graph.inputs.size() == 1 && graph.inputs.front().is_integer && graph.inputs.front().has_shape &&
         graph.inputs.front().dims.size() == 2;
}

ImportedGpt import_gpt(ForeignGraph foreign) {
  const ForeignGraph graph = prepared_tokens(std::move(foreign));
  if (graph.outputs.size() != 1)
    fail_input(errors::unsupported_feature, "{}: has {} outputs, and a GPT of Mylos has one, the logits",
               graph.file, graph.outputs.size());
  const OnnxNumbers& dims = graph.inputs.front().dims;
  // Shapes that the graph computes are constants for given numbers of samples and tokens: two of each show
  // that the network is the same for all.
  constexpr std::int64_t max_tokens = 4096;
  const bool is_fixed = dims[1] != any_extent;
  const std::int64_t batch = dims[0] == any_extent ? 2 : dims[0];
  const std::int64_t tokens = is_fixed ? dims[1] : 5;
  if (batch < 1 || batch > 16 || tokens < 2 || tokens > max_tokens)
    fail_input(errors::unsupported_feature,
               "{}: its input is [{}, {}]; Mylos reads up to 16 samples of 2 to {} tokens", graph.file, batch,
               tokens, max_tokens);
  ImportedGpt gpt = assembled_gpt(graph, batch, tokens);
  if (is_fixed && gpt.model.positions == PositionType::rotary) gpt.model.context = tokens;
  if (!is_fixed) {
    const ImportedGpt other = assembled_gpt(graph, dims[0] == any_extent ? 3 : batch, 3);
    if (other.model != gpt.model || other.weights != gpt.weights)
      fail_input(errors::unsupported_feature, "{}: its layers depend on the number of tokens", graph.file);
  }
  for (const auto& [path, values] : gpt.weights) {
    if (!std::all_of(values.begin(), values.end(), [](float each) { return std::isfinite(each); }))
      fail_input(errors::not_finite, "{}: a weight of '{}' is not finite", graph.file, path);
  }
  return gpt;
}

}  // namespace mylos
