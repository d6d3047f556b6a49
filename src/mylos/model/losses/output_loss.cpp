#include "mylos/model/losses/output_loss.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/launch/reduce.hpp"
#include "mylos/kernels/pointwise/gaussian_loss.hpp"
#include "mylos/kernels/pointwise/loss.hpp"
#include "mylos/model/block/row_sums.hpp"

namespace mylos {

/// What the loss needs besides its input; the last two of "gaussian" alone.
struct OutputLoss::Workspace {
  Workspace(const OutputLoss& loss, std::int64_t count, std::byte* memory)
      : pieces(memory), rows(pieces, count) {
    if (loss.norm_) norm = pieces.take<float>(loss.norm_->workspace_numbers(count));
    if (outputs_per_target(loss.loss_) == 1) return;
    means = pieces.take_tensor(loss.signature_.output_type, count, loss.signature_.outputs);
    deviations = pieces.take_tensor(DType::fp32, count, loss.signature_.outputs);
  }

  Pieces pieces;
  RowSums rows;
  float* norm = nullptr;
  Tensor means, deviations;
};

OutputLoss::OutputLoss(const ModelOptions& model, std::int64_t inputs, DType type, const SampleShape& input)
    : OutputLoss(model.loss, inputs, type) {
  const std::int64_t outputs = signature_.outputs;
  huber_delta_ = static_cast<float>(model.huber_delta);
  label_smoothing_ = static_cast<float>(model.label_smoothing);
  class_weights_.assign(model.class_weights.begin(), model.class_weights.end());
  if (!class_weights_.empty() && static_cast<std::int64_t>(class_weights_.size()) != outputs) {
    fail_input(errors::bad_value, "model.class_weights has {} weights, but there are {} classes",
               class_weights_.size(), outputs);
  }
  SampleShape output = input;
  output.grid.channels /= outputs_per_target(loss_);
  if (is_of_numbers(loss_)) set_field(model, output);
}

void OutputLoss::set_field(const ModelOptions& model, const SampleShape& output) {
  const bool is_by_channel = is_relative(loss_) && model.loss_per == LossPer::channel;
  const bool has_derivatives = loss_ == LossType::relative_h1;
  const bool needs_grid = has_derivatives || is_by_channel || model.point_weights;
  if (output.axes == 0) {
    if (!needs_grid) return;
    fail_input(errors::keys_conflict,
               "{} of a network whose outputs lie on a grid, and the outputs are a vector of {} numbers; {}",
               has_derivatives       ? "model.loss = \"relative_h1\" is a loss"
               : model.point_weights ? "data.weights has the weights of points"
                                     : "model.loss_per = \"channel\" is a norm",
               signature_.outputs,
               has_derivatives ? "use \"relative_l2\", or a last layer on the grid"
                               : "leave it out, or use a last layer on the grid");
  }
  field_ = OutputField{.grid = output.grid,
                       .axes = output.axes,
                       .per = model.loss_per,
                       .derivative = model.derivative,
                       .weights = model.point_weights};
  if (!needs_grid) return;
  norm_.emplace(*field_, has_derivatives);
}

LossCost OutputLoss::cost(const Engines&, std::int64_t rows) const {
  const Workspace workspace(*this, rows, nullptr);
  double flops_of_number = loss_ == LossType::gaussian ? 50 : 8;  // with two exponentials
  if (norm_) flops_of_number += norm_->flops_of_derivatives();
  return {workspace.pieces.bytes(),
          flops_of_number * static_cast<double>(rows) * static_cast<double>(signature_.outputs)};
}

void OutputLoss::evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                          LossSums* sums) const {
  evaluate_and_seed(context, memory, truth, {}, sums);
}

void OutputLoss::evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                                   const LossGradients& gradients, LossSums* sums) const {
  const Workspace workspace(*this, memory.input.rows(), memory.workspace);
  const RowSums& rows = workspace.rows;
  const LossArrays arrays{memory.input,    truth.targets,           gradients.input,
                          gradients.scale, gradients.inverse_count, rows.loss};
  if (loss_ == LossType::gaussian) {
    gaussian_likelihood(context.exec, points(memory.constants), arrays);
    rows.add_to(context.exec, loss_, sums);
    return;
  }
  if (norm_) {
    evaluate_field(context.exec, *norm_, memory.constants, arrays, workspace.norm);
    rows.add_to(context.exec, loss_, sums);
    return;
  }
  const auto of_targets = [&](const auto& loss, auto... more) {
    loss(context.exec, memory.input, truth.targets, gradients.input, gradients.scale, gradients.inverse_count,
         rows.loss, more...);
  };
  switch (loss_) {
    case LossType::cross_entropy:
      softmax_cross_entropy(context.exec, memory.input, truth.labels, gradients.input, gradients.scale,
                            gradients.inverse_count, rows.loss, rows.correct, truth.classes,
                            {.smoothing = label_smoothing_, .class_weights = memory.constants});
      break;
    case LossType::mse:
      of_targets(mean_squared_error);
      break;
    case LossType::l1:
      of_targets(mean_absolute_error);
      break;
    case LossType::huber:
      of_targets(mean_huber_loss, huber_delta_);
      break;
    case LossType::relative_l2:
      of_targets(relative_l2_error);
      break;
    case LossType::binary_cross_entropy:
      of_targets(mean_binary_cross_entropy);
      break;
    case LossType::relative_h1:
    case LossType::gaussian:
      fail_run(errors::internal, "the loss \"{}\" of a vector", name_of(loss_));
  }
  rows.add_to(context.exec, loss_, sums);
}

void OutputLoss::evaluate_field(const Execution& exec, const FieldNorm& norm, const float* constants,
                                const LossArrays& arrays, float* workspace) const {
  const FieldPoints field = norm.points(constants);
  switch (loss_) {
    case LossType::mse:
      return weighted_squared_error(exec, field, arrays);
    case LossType::l1:
      return weighted_absolute_error(exec, field, arrays);
    case LossType::huber:
      return weighted_huber_loss(exec, field, arrays, huber_delta_);
    case LossType::relative_l2:
      return relative_l2_of_field(exec, field, norm.per_channel(), arrays);
    case LossType::relative_h1:
      return relative_h1_of_field(exec, field, norm.derivatives(constants), norm.per_channel(), arrays,
                                  workspace);
    case LossType::cross_entropy:
    case LossType::binary_cross_entropy:
    case LossType::gaussian:
      break;
  }
  fail_run(errors::internal, "the loss \"{}\" is not one of fields", name_of(loss_));
}

/// Returns the points and channels of the outputs; a vector is one point.
FieldPoints OutputLoss::points(const float* constants) const {
  if (norm_) return norm_->points(constants);
  if (field_) return {.points = field_->grid.points(), .channels = field_->grid.channels};
  return {.channels = signature_.outputs};
}

ConstTensor OutputLoss::outputs_of(const StepContext& context, const LossMemory& memory) const {
  if (loss_ != LossType::gaussian) return memory.input;
  const Workspace workspace(*this, memory.input.rows(), memory.workspace);
  gaussian_means(context.exec, points(memory.constants), memory.input, workspace.means);
  return workspace.means;
}

ConstTensor OutputLoss::deviations_of(const StepContext& context, const LossMemory& memory) const {
  if (loss_ != LossType::gaussian) return LossHead::deviations_of(context, memory);
  const Workspace workspace(*this, memory.input.rows(), memory.workspace);
  gaussian_deviations(context.exec, points(memory.constants), memory.input, workspace.deviations);
  return workspace.deviations;
}

}  // namespace mylos
