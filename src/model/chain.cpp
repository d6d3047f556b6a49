#include "mylos/model/chain.hpp"

#include <algorithm>

#include "mylos/model/dense.hpp"
#include "mylos/model/norm_block.hpp"
#include "mylos/model/output_loss.hpp"
#include "mylos/precision/policy.hpp"
#include "residual_output.hpp"

namespace mylos {
namespace {

/// Appends blocks one after the other, each with the types that the policy gives it.
class MlpBuilder {
 public:
  MlpBuilder(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
             bool accumulates)
      : precision_(precision),
        seed_(seed),
        accumulates_(accumulates),
        width_(model.inputs),
        entry_type_(type_of_residual_input(model, precision)) {
    chain_.masters = precision.masters;
  }

  void add_dense(const std::string& name, std::int64_t outputs, Activation activation, double dropout) {
    DenseOptions options;
    options.name = name;
    options.inputs = width_;
    options.outputs = outputs;
    options.activation = activation;
    options.dropout = dropout;
    options.type = compute_type(precision_, name, "linear");
    options.input_type = chain_.blocks.empty() ? entry_type_.value_or(options.type) : last_type();
    options.gradient_type = gradient_type(precision_.gradient, options.type, accumulates_);
    options.first = chain_.blocks.empty();
    options.seed = seed_;
    append(std::make_unique<Dense>(std::move(options)));
  }

  void add_norm(const std::string& name, NormType type) {
    NormOptions options;
    options.name = name;
    options.norm = {.type = type, .width = width_};
    options.type = compute_type(precision_, name, kind_of(type));
    options.input_type = last_type();
    options.gradient_type = gradient_type(precision_.gradient, options.type, accumulates_);
    append(std::make_unique<NormBlock>(std::move(options)));
  }

  Chain finish(const ModelOptions& model) {
    append_residual(chain_, model, {.grid = {.channels = model.inputs}}, {.grid = {.channels = width_}});
    chain_.head = std::make_unique<OutputLoss>(model, width_, last_type());
    return std::move(chain_);
  }

 private:
  [[nodiscard]] DType last_type() const { return chain_.blocks.back()->signature().output_type; }
  void append(std::unique_ptr<Block> block) {
    width_ = block->signature().outputs;
    chain_.blocks.push_back(std::move(block));
  }

  const PrecisionOptions& precision_;
  std::uint64_t seed_;
  bool accumulates_;
  std::int64_t width_;
  std::optional<DType> entry_type_;  // where it is not that of the first layer
  Chain chain_;
};

/// "stem (conv), head (linear)"
std::string names_of_layers(const Chain& chain, bool with_head) {
  std::string layers;
  for (std::size_t stage = 0; stage < chain.blocks.size() + (with_head ? 1 : 0); ++stage) {
    const Signature& layer = chain.signature(stage);
    layers += fmt::format("{}{} ({})", layers.empty() ? "" : ", ", layer.name, layer.kind);
  }
  return layers;
}

}  // namespace

bool Chain::computes_in(DType type) const {
  for (const auto& block : blocks) {
    if (block->signature().compute_type == type) return true;
  }
  return head->signature().compute_type == type;
}

Skips Chain::all_skips() const {
  std::vector<std::size_t> sources;
  for (std::size_t block = 0; block < blocks.size(); ++block) sources.push_back(skip_of(block));
  return Skips(std::move(sources));
}

const Signature& Chain::signature(std::size_t stage) const {
  return stage < blocks.size() ? blocks[stage]->signature() : head->signature();
}

std::vector<ParameterSpec> Chain::stage_parameters(std::size_t stage) const {
  return stage < blocks.size() ? blocks[stage]->parameters() : head->parameters();
}

std::int64_t Chain::parameter_count() const {
  std::int64_t count = 0;
  for (std::size_t stage = 0; stage <= blocks.size(); ++stage) {
    for (const ParameterSpec& parameter : stage_parameters(stage)) count += parameter.size();
  }
  return count;
}

void require_weights(const Chain& chain, const Places& places) {
  if (chain.parameter_count() > 0) return;
  fail_input(
      "{}the network has no weights, so there is nothing to train: its layers are {}. Give it one that has "
      "weights: kind = \"dense\" or \"conv\"",
      place_of(places, {"model.layers.1", "model.layers", "model.type"}), names_of_layers(chain, false));
}

void require_rules_apply(const Chain& chain, const PrecisionOptions& precision) {
  for (const PrecisionRule& rule : precision.rules) {
    const auto applies = [&rule](const auto& block) {
      return rule_applies(rule, block->signature().name, block->signature().kind);
    };
    const bool head_computes = !chain.head->parameters().empty() || chain.head->borrows();
    if (std::any_of(chain.blocks.begin(), chain.blocks.end(), applies)) continue;
    if (head_computes && applies(chain.head)) continue;
    fail_input("precision.rules: '{}' is no layer of this model, nor a kind or pattern of one; it has {}",
               rule.pattern, names_of_layers(chain, head_computes));
  }
}

Chain make_mlp(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
               bool accumulates) {
  MlpBuilder builder(model, precision, seed, accumulates);
  for (std::size_t i = 0; i < model.hidden.size(); ++i) {
    builder.add_dense(fmt::format("hidden{}", i + 1), model.hidden[i], model.activation, model.dropout);
    if (model.norm != NormType::none) builder.add_norm(fmt::format("norm{}", i + 1), model.norm);
  }
  builder.add_dense("head", model.outputs, Activation::none, 0);
  return builder.finish(model);
}

}  // namespace mylos
