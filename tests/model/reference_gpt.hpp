// A reference GPT, forward only, in double and as the formulas read. It shares no code with the library
// except the random words of dropout, whose use dropout.hpp and attention.hpp document.
#pragma once

#include <fmt/format.h>

#include <map>

#include "model/reference_mlp.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/model/options.hpp"

namespace mylos::test {

struct ReferenceGpt {
  ModelOptions model;
  std::uint64_t seed = 0, step = 0, first_sample = 0;
  double dropout = 0;
  std::vector<std::int32_t> tokens = {}, labels = {};  // [samples · context]
  std::map<std::string, Numbers> parameters = {};      // by path

  [[nodiscard]] Numbers logits() {
    Numbers x = embed();
    for (std::int64_t layer = 1; layer <= model.layers; ++layer) {
      add_branch(x, attend(fmt::format("attention{}", layer), x), fmt::format("attention{}", layer));
      add_branch(x, feed_forward(fmt::format("mlp{}", layer), x), fmt::format("mlp{}", layer));
    }
    x = norm(x, "final_norm/");
    return linear(x, model.tied ? "embedding/token" : "head/weight", "", width());
  }
  [[nodiscard]] double loss() { return cross_entropy(logits(), labels); }

 private:
  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(model.width); }
  [[nodiscard]] std::size_t context() const { return static_cast<std::size_t>(model.context); }

  [[nodiscard]] double mask(const RandomStream& stream, std::uint64_t row, std::size_t column) const {
    if (dropout == 0) return 1;
    return stream.word(step, row, column) < (1 - dropout) * 4294967296.0 ? 1 / (1 - dropout) : 0;
  }
  void drop(Numbers& x, const std::string& name) const {
    const RandomStream stream(seed, RandomPurpose::dropout, name);
    for (std::size_t e = 0; e < x.size(); ++e) {
      x[e] *= mask(stream, first_sample * context() + e / width(), e % width());
    }
  }
  Numbers embed() {
    Numbers x(tokens.size() * width());
    const Numbers& token = parameters["embedding/token"];
    const Numbers* const position =
        model.positions == PositionType::learned ? &parameters["embedding/position"] : nullptr;
    for (std::size_t e = 0; e < x.size(); ++e) {
      const std::size_t row = e / width(), column = e % width();
      x[e] = token[static_cast<std::size_t>(tokens[row]) * width() + column];
      if (position != nullptr) x[e] += (*position)[row % context() * width() + column];
    }
    drop(x, "embedding");
    return x;
  }
  void add_branch(Numbers& x, Numbers branch, const std::string& name) const {
    drop(branch, name);
    for (std::size_t e = 0; e < x.size(); ++e) x[e] += branch[e];
  }
  Numbers norm(const Numbers& x, const std::string& prefix) {
    const Numbers& weight = parameters[prefix + "weight"];
    const bool layernorm = model.norm != NormType::rmsnorm;
    const Numbers none(width(), 0.0);
    const Numbers& bias = layernorm && model.bias ? parameters[prefix + "bias"] : none;
    if (layernorm) return ReferenceNorm{width(), 1e-5, weight, bias}.forward(x);
    Numbers y(x.size());
    for (std::size_t start = 0; start < x.size(); start += width()) {
      double square = 0;
      for (std::size_t i = 0; i < width(); ++i) square += x[start + i] * x[start + i];
      const double scale = 1 / std::sqrt(square / static_cast<double>(width()) + 1e-5);
      for (std::size_t i = 0; i < width(); ++i) y[start + i] = x[start + i] * scale * weight[i];
    }
    return y;
  }
  Numbers linear(const Numbers& x, const std::string& weight, const std::string& bias, std::size_t inputs) {
    const std::size_t outputs = parameters[weight].size() / inputs;
    const Numbers zeros(outputs, 0.0);
    return ReferenceDense{.inputs = inputs,
                          .outputs = outputs,
                          .weight = parameters[weight],
                          .bias = parameters.contains(bias) ? parameters[bias] : zeros}
        .pre_activation(x);
  }
  /// Rotates the pair (j, j + d/2) of each head of q or k by position · 10000^(-2j/d).
  void rotate(Numbers& qkv, std::size_t first_column) const {
    const auto heads = static_cast<std::size_t>(model.heads);
    const std::size_t d = width() / heads;
    for (std::size_t row = 0; row < tokens.size(); ++row) {
      for (std::size_t h = 0; h < heads; ++h) {
        for (std::size_t j = 0; j < d / 2; ++j) {
          const double angle = static_cast<double>(row % context()) *
                               std::pow(10000.0, -2.0 * static_cast<double>(j) / static_cast<double>(d));
          double& first = qkv[row * 3 * width() + first_column + h * d + j];
          double& second = qkv[row * 3 * width() + first_column + h * d + j + d / 2];
          const double x = first, y = second;
          first = x * std::cos(angle) - y * std::sin(angle);
          second = x * std::sin(angle) + y * std::cos(angle);
        }
      }
    }
  }
  Numbers attend(const std::string& name, const Numbers& x) {
    Numbers qkv = linear(norm(x, name + "/norm_"), name + "/qkv_weight", name + "/qkv_bias", width());
    if (model.positions == PositionType::rotary) {
      rotate(qkv, 0);
      rotate(qkv, width());
    }
    const RandomStream stream(seed, RandomPurpose::dropout, name + "/probabilities");
    const auto heads = static_cast<std::size_t>(model.heads);
    const std::size_t d = width() / heads;
    Numbers output(x.size(), 0.0);
    const auto at = [&](std::size_t row, std::size_t part, std::size_t head, std::size_t c) {
      return qkv[row * 3 * width() + part * width() + head * d + c];
    };
    for (std::size_t row = 0; row < tokens.size(); ++row) {
      const std::size_t i = row % context(), start = row - i;
      for (std::size_t h = 0; h < heads; ++h) {
        Numbers p(i + 1);
        double sum = 0;
        for (std::size_t j = 0; j <= i; ++j) {
          double score = 0;
          for (std::size_t c = 0; c < d; ++c) score += at(row, 0, h, c) * at(start + j, 1, h, c);
          sum += p[j] = std::exp(score / std::sqrt(static_cast<double>(d)));
        }
        const std::uint64_t sample = ((first_sample + row / context()) * heads + h) * context() + i;
        for (std::size_t j = 0; j <= i; ++j) {
          const double probability = p[j] / sum * mask(stream, sample, j);
          for (std::size_t c = 0; c < d; ++c) {
            output[row * width() + h * d + c] += probability * at(start + j, 2, h, c);
          }
        }
      }
    }
    return linear(output, name + "/output_weight", name + "/output_bias", width());
  }
  Numbers feed_forward(const std::string& name, const Numbers& x) {
    const Numbers normed = norm(x, name + "/norm_");
    Numbers a = linear(normed, name + "/up_weight", name + "/up_bias", width());
    if (model.feed_forward == FeedForwardType::swiglu) {
      const Numbers gate = linear(normed, name + "/gate_weight", name + "/gate_bias", width());
      for (std::size_t e = 0; e < a.size(); ++e) a[e] *= activation_value(Activation::silu, gate[e]);
    } else {
      for (double& value : a) value = activation_value(Activation::gelu_tanh, value);
    }
    return linear(a, name + "/down_weight", name + "/down_bias", a.size() / tokens.size());
  }
};

}  // namespace mylos::test
