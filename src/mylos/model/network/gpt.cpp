#include "mylos/model/network/gpt.hpp"

#include <fmt/format.h>

#include <cmath>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/model/layers/norm/norm_block.hpp"
#include "mylos/model/layers/transformer/attention_block.hpp"
#include "mylos/model/layers/transformer/embedding.hpp"
#include "mylos/model/layers/transformer/feed_forward.hpp"
#include "mylos/model/network/classifier.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {
namespace {

constexpr float gpt2_std = 0.02f;  // as GPT-2

class GptBuilder {
 public:
  GptBuilder(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
             bool accumulates)
      : model_(model), precision_(precision), seed_(seed), accumulates_(accumulates) {
    chain_.rows_per_sample = model.context;
    chain_.masters = precision.masters;
    norm_.type = model.norm == NormType::rmsnorm ? NormType::rmsnorm : NormType::layernorm;
    norm_.width = model.width;
    norm_.bias = model.bias;
  }

  void add_embedding() {
    EmbeddingOptions options;
    options.vocabulary = model_.vocabulary;
    options.width = model_.width;
    options.context = model_.context;
    options.positions = model_.positions == PositionType::learned;
    options.tied = model_.tied;
    options.dropout = model_.dropout;
    options.type = compute_type(precision_, options.name, "embedding");
    options.initial_std = gpt2_std;
    options.seed = seed_;
    options.gradient_type = model_.tied ? DType::fp32 : gradient_of(options.type);
    append(std::make_unique<Embedding>(std::move(options)));
  }

  void add_attention(std::int64_t layer) {
    AttentionOptions options;
    options.branch = branch(fmt::format("attention{}", layer + 1), "attention");
    options.heads = model_.heads;
    options.rotary = model_.positions == PositionType::rotary;
    options.layer = static_cast<std::size_t>(layer);
    append(make_attention_block(std::move(options)));
  }

  void add_feed_forward(std::int64_t layer) {
    FeedForwardOptions options;
    options.branch = branch(fmt::format("mlp{}", layer + 1), "mlp");
    options.hidden = feed_forward_width(model_);
    options.type = model_.feed_forward;
    append(make_feed_forward_block(std::move(options)));
  }

  void add_final_norm() {
    NormOptions options;
    options.name = "final_norm";
    options.norm = norm_;
    options.type = compute_type(precision_, options.name, kind_of(norm_.type));
    options.input_type = last_type();
    options.gradient_type = gradient_of(options.type);
    append(std::make_unique<NormBlock>(std::move(options)));
  }

  Chain finish() {
    ClassifierOptions options;
    options.width = model_.width;
    options.classes = model_.vocabulary;
    options.input_type = last_type();
    options.type = compute_type(precision_, options.name, "classifier");
    options.initial_std = gpt2_std;
    const DType embedding = chain_.signature(0).compute_type;
    if (model_.tied) {
      if (options.type != embedding && options.type != DType::fp32) {
        fail_input(
            errors::keys_conflict,
            "precision.rules: with model.tied the head shares the embedding's weights, which are {} by the "
            "rules; the head can compute in that or in fp32, not in {}",
            name_of(embedding), name_of(options.type));
      }
      options.tied = BorrowedParameter{0, "token", "weight"};
    }
    chain_.head = std::make_unique<Classifier>(std::move(options));
    return std::move(chain_);
  }

 private:
  [[nodiscard]] DType last_type() const { return chain_.blocks.back()->signature().output_type; }
  [[nodiscard]] DType gradient_of(DType type) const {
    return gradient_type(precision_.gradient, type, accumulates_);
  }

  [[nodiscard]] BranchOptions branch(const std::string& name, std::string_view kind) const {
    BranchOptions options;
    options.name = name;
    options.width = model_.width;
    options.context = model_.context;
    options.norm = norm_;
    options.bias = model_.bias;
    options.dropout = model_.dropout;
    options.type = compute_type(precision_, name, kind);
    options.input_type = last_type();
    options.gradient_type = gradient_of(options.type);
    options.initial_std = gpt2_std;
    options.residual_std = gpt2_std / std::sqrt(2.0f * static_cast<float>(model_.layers));
    options.seed = seed_;
    return options;
  }

  void append(std::unique_ptr<Block> block) { chain_.blocks.push_back(std::move(block)); }

  const ModelOptions& model_;
  const PrecisionOptions& precision_;
  std::uint64_t seed_;
  bool accumulates_;
  Norm norm_;
  Chain chain_;
};

}  // namespace

std::int64_t feed_forward_width(const ModelOptions& model) {
  if (model.feed_forward == FeedForwardType::gelu) return 4 * model.width;
  return (8 * model.width + 3 * 64 - 1) / (3 * 64) * 64;
}

Chain make_gpt(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
               bool accumulates) {
  GptBuilder builder(model, precision, seed, accumulates);
  builder.add_embedding();
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    builder.add_attention(layer);
    builder.add_feed_forward(layer);
  }
  builder.add_final_norm();
  return builder.finish();
}

}  // namespace mylos
