// sum: a weighted sum of losses, each of some channels of the outputs. The losses are computed one after the
// other on copies of their channels, and their gradients are added, each rounded to the outputs' type.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/numbers/target_channels.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/grid/by_points.hpp"
#include "mylos/kernels/launch/columns.hpp"
#include "mylos/model/block/loss_sums.hpp"
#include "mylos/model/losses/field_norm.hpp"
#include "mylos/model/losses/make_loss.hpp"
#include "mylos/model/losses/sum/term_text.hpp"

namespace mylos {
namespace {

/// One of the losses.
struct Term {
  std::unique_ptr<LossHead> loss;
  std::vector<std::int64_t> channels;
  float weight = 1;
  std::size_t first_constant = 0;
};

class SumLoss final : public LossHead {
 public:
  SumLoss(const ModelOptions& model, const LossInput& input);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] const LossTraits& loss() const override { return losses::Sum::traits; }
  [[nodiscard]] std::span<const float> constants() const override { return constants_; }
  [[nodiscard]] std::optional<OutputField> field() const override { return field_; }
  [[nodiscard]] LossCost cost(const Engines& engines, std::int64_t rows) const override;
  void evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                LossSums* sums) const override {
    evaluate_and_seed(context, memory, truth, {}, sums);
  }
  void evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                         const LossGradients& gradients, LossSums* sums) const override;
  [[nodiscard]] ConstTensor outputs_of(const StepContext& /*context*/,
                                       const LossMemory& memory) const override {
    return memory.input;
  }

 private:
  /// The memory of one term.
  struct Memory {
    Memory(const SumLoss& sum, const Term& term, std::int64_t rows, std::byte* workspace)
        : pieces(workspace), sums(pieces.take<LossSums>(1)) {
      const std::int64_t columns = sum.points_ * static_cast<std::int64_t>(term.channels.size());
      outputs = pieces.take_tensor(sum.signature_.input_type, rows, columns);
      gradient = pieces.take_tensor(sum.signature_.input_type, rows, columns);
      targets = pieces.take_tensor(DType::fp32, rows, columns);
      rest = pieces.take_bytes(0);
    }

    Pieces pieces;
    LossSums* sums;
    Tensor outputs, gradient, targets;
    std::byte* rest;
  };

  std::vector<Term> terms_;
  std::int64_t points_;
  std::int64_t channels_;
  std::optional<OutputField> field_;
  std::vector<float> constants_;
  Signature signature_;
};

std::vector<std::int64_t> channels_of(const LossTerm& term, std::size_t index, std::int64_t channels) {
  if (term.channels.empty()) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(channels));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    return all;
  }
  std::set<std::int64_t> once;
  for (const std::int64_t channel : term.channels) {
    if (channel < channels && once.insert(channel).second) continue;
    fail_input(errors::bad_value, "{} has the channel {}{}", text_of_term(index), channel,
               channel < channels ? " twice"
                                  : fmt::format(", and the outputs have the channels 0 to {}", channels - 1));
  }
  return term.channels;
}

/// Returns the weights of some channels, if each channel has its own.
std::shared_ptr<const PointWeights> weights_of(const std::shared_ptr<const PointWeights>& all,
                                               const std::vector<std::int64_t>& channels) {
  if (all == nullptr || all->channels == 1) return all;
  PointWeights weights{all->source, all->extents, {}, static_cast<std::int64_t>(channels.size())};
  const auto points = static_cast<std::int64_t>(all->values.size()) / all->channels;
  for (std::int64_t point = 0; point < points; ++point)
    for (const std::int64_t channel : channels)
      weights.values.push_back(all->values[static_cast<std::size_t>(point * all->channels + channel)]);
  return std::make_shared<const PointWeights>(std::move(weights));
}

SumLoss::SumLoss(const ModelOptions& model, const LossInput& input)
    : points_(input.shape.axes == 0 ? 1 : input.shape.grid.points()),
      channels_(input.numbers / points_),
      signature_{.name = "loss",
                 .kind = "loss",
                 .inputs = input.numbers,
                 .outputs = input.numbers,
                 .input_type = input.type,
                 .output_type = input.type,
                 .compute_type = input.type} {
  if (model.terms.empty())
    fail_input(errors::missing_key, "model.loss = \"sum\" needs at least one [[model.terms]]");
  if (input.shape.axes > 0)
    field_ = OutputField{.grid = input.shape.grid,
                         .axes = input.shape.axes,
                         .per = model.loss_per,
                         .derivative = model.derivative,
                         .weights = model.point_weights,
                         .skips_missing = model.has_missing_targets};
  if (field_ && field_->weights)
    static_cast<void>(FieldNorm(*field_, false));  // requires weights of its shape
  for (const LossTerm& options : model.terms) {
    Term term;
    term.channels = options.variables.empty()
                        ? channels_of(options, terms_.size(), channels_)
                        : channels_of_targets(text_of_term(terms_.size()), options.variables,
                                              model.target_names, channels_);
    term.weight = static_cast<float>(options.weight);
    term.first_constant = constants_.size();
    ModelOptions of_term = model;
    of_term.loss_per = options.per;
    of_term.derivative = options.derivative;
    of_term.point_weights = weights_of(model.point_weights, term.channels);
    LossInput own = input;
    own.shape.grid.channels = static_cast<std::int64_t>(term.channels.size());
    own.numbers = points_ * own.shape.grid.channels;
    const auto make = [&](const auto& loss) {
      of_term.loss = loss;
      return loss.make(of_term, own);
    };
    try {
      term.loss = std::visit(make, options.loss);
    } catch (const Error& error) {
      throw error.with(fmt::format("{}: {}", text_of_term(terms_.size()), error.message()));
    }
    const std::span<const float> own_constants = term.loss->constants();
    constants_.insert(constants_.end(), own_constants.begin(), own_constants.end());
    terms_.push_back(std::move(term));
  }
}

LossCost SumLoss::cost(const Engines& engines, std::int64_t rows) const {
  LossCost cost;
  for (const Term& term : terms_) {
    const LossCost own = term.loss->cost(engines, rows);
    const std::size_t copies = Memory(*this, term, rows, nullptr).pieces.bytes();
    cost.workspace = std::max(cost.workspace, copies + own.workspace);
    cost.flops += own.flops;
  }
  return cost;
}

void SumLoss::evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                                const LossGradients& gradients, LossSums* sums) const {
  const Execution& exec = context.exec;
  const std::int64_t rows = memory.input.rows();
  const ConstTensor outputs = by_points(memory.input, points_);
  const ConstTensor targets(truth.targets, DType::fp32, rows * points_, channels_);
  const bool has_gradient = !gradients.input.empty();
  if (has_gradient) set_to_zero(exec, gradients.input);
  for (const Term& term : terms_) {
    const Memory own(*this, term, rows, memory.workspace);
    for (std::size_t i = 0; i < term.channels.size(); ++i) {
      const auto to = static_cast<std::int64_t>(i);
      copy_columns(exec, {outputs, term.channels[i]}, {by_points(own.outputs, points_), to}, 1);
      copy_columns(exec, {targets, term.channels[i]}, {by_points(own.targets, points_), to}, 1);
    }
    const LossMemory of_term{
        .weights = {},
        .input = own.outputs,
        .workspace = own.rest,
        .constants = memory.constants == nullptr ? nullptr : memory.constants + term.first_constant};
    LossGradients of_gradient = gradients;
    if (has_gradient) of_gradient.input = own.gradient;
    of_gradient.inverse_count *= term.weight;
    clear_sums(exec, own.sums);
    term.loss->evaluate_and_seed(context, of_term, {.targets = own.targets.as<float>()}, of_gradient,
                                 own.sums);
    add_weighted(exec, own.sums, term.weight, sums);
    for (std::size_t i = 0; has_gradient && i < term.channels.size(); ++i)
      copy_columns(exec, {by_points(own.gradient, points_), static_cast<std::int64_t>(i)},
                   {by_points(gradients.input, points_), term.channels[i]}, 1, true);
  }
}

}  // namespace

std::unique_ptr<LossHead> losses::Sum::make(const ModelOptions& model, const LossInput& input) const {
  return std::make_unique<SumLoss>(model, input);
}

}  // namespace mylos
