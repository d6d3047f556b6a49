#include "mylos/model/network/mlp.hpp"

#include <fmt/format.h>

#include "mylos/model/layers/activation/activation_block.hpp"
#include "mylos/model/layers/dense/dense.hpp"
#include "mylos/model/layers/nonnegative/nonnegative_output.hpp"
#include "mylos/model/layers/norm/norm_block.hpp"
#include "mylos/model/layers/residual/residual_output.hpp"
#include "mylos/model/losses/make_loss.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {
namespace {

/// Appends blocks in sequence, each with the types that the policy gives it.
class MlpBuilder {
 public:
  MlpBuilder(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
             bool accumulates, bool input_gradients)
      : precision_(precision),
        seed_(seed),
        accumulates_(accumulates),
        width_(model.inputs),
        entry_type_(type_of_residual_input(model, precision)) {
    chain_.masters = precision.masters;
    chain_.input_gradients = input_gradients;
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
    options.first = chain_.blocks.empty() && !chain_.input_gradients;
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

  void add_activation(const std::string& name, Activation activation, double dropout) {
    if (activation == Activation::none && dropout == 0) return;
    ActivationOptions options;
    options.name = name;
    options.width = width_;
    options.activation = activation;
    options.dropout = dropout;
    options.type = last_type();
    options.seed = seed_;
    append(std::make_unique<ActivationBlock>(std::move(options)));
  }

  Chain finish(const ModelOptions& model) {
    const SampleShape output{.grid = {.channels = width_}};
    append_residual(chain_, model, {.grid = {.channels = model.inputs}}, output);
    append_nonnegative(chain_, model, output);
    chain_.head = make_loss(model, {.numbers = width_, .type = last_type()});
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
  std::optional<DType> entry_type_;  // of the input, if it differs from the first layer's
  Chain chain_;
};

}  // namespace

Chain make_mlp(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
               bool accumulates, bool input_gradients) {
  MlpBuilder builder(model, precision, seed, accumulates, input_gradients);
  for (std::size_t i = 0; i < model.hidden.size(); ++i) {
    const std::string name = fmt::format("hidden{}", i + 1);
    const std::string norm = fmt::format("norm{}", i + 1);
    if (model.norm != NormType::none && model.norm_first) {
      builder.add_dense(name, model.hidden[i], Activation::none, 0);
      builder.add_norm(norm, model.norm);
      builder.add_activation(name + ".activation", model.activation, model.dropout);
    } else {
      builder.add_dense(name, model.hidden[i], model.activation, model.dropout);
      if (model.norm != NormType::none) builder.add_norm(norm, model.norm);
    }
  }
  builder.add_dense("head", model.outputs * outputs_per_target(model.loss), Activation::none, 0);
  return builder.finish(model);
}

}  // namespace mylos
