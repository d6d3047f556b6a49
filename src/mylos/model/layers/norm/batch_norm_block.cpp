#include "mylos/model/layers/norm/batch_norm_block.hpp"

#include "mylos/base/device/region.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/grid/by_points.hpp"
#include "mylos/kernels/norm/batch_norm.hpp"
#include "mylos/kernels/pointwise/activation.hpp"
#include "mylos/model/block/norm_parts.hpp"

namespace mylos {

struct BatchNormBlock::Forward {
  Forward(const BatchNormBlock& block, std::int64_t rows, std::byte* workspace)
      : pieces(workspace),
        input(take_input(pieces, block.signature_, rows)),
        running_rstd(pieces.take<float>(block.options_.grid.channels)),
        sums(pieces.take_bytes(batch_norm_workspace(block.options_.grid, rows))) {}

  Pieces pieces;
  Tensor input;
  float* running_rstd;  // for evaluation
  std::byte* sums;
};

BatchNormBlock::BatchNormBlock(BatchNormOptions options)
    : options_(std::move(options)),
      signature_(norm_signature(options_, "batchnorm", options_.grid.columns())) {
  const bool is_fused = options_.activation == Activation::none || keeps_output(options_.activation, false);
  if (!is_fused)
    fail_run(errors::internal, "layer '{}': the activation's derivative does not follow from its output",
             options_.name);
}

std::vector<ParameterSpec> BatchNormBlock::parameters() const {
  return weight_and_bias(options_, options_.grid.channels);
}

std::vector<BufferSpec> BatchNormBlock::buffers() const {
  const std::int64_t channels = options_.grid.channels;
  return {
      {.name = "running_mean", .size = channels},
      {.name = "running_variance", .size = channels, .initial_value = 1},
      {.name = "step_sums", .size = batch_norm_sums(channels), .type = DType::fp64, .role = BufferRole::sum},
      {.name = "sums", .size = batch_norm_sums(channels), .type = DType::fp64, .role = BufferRole::scratch},
      {.name = "mean", .size = channels, .role = BufferRole::scratch},
      {.name = "rstd", .size = channels, .role = BufferRole::scratch}};
}

BlockCost BatchNormBlock::cost(const Engines&, std::int64_t rows) const {
  return norm_cost(signature_, rows, Forward(*this, rows, nullptr).pieces.bytes(), 0,
                   backward_pieces(rows, nullptr).pieces.bytes());
}

NormBackward BatchNormBlock::backward_pieces(std::int64_t rows, std::byte* workspace) const {
  return {signature_, rows, batch_norm_workspace(options_.grid, rows), workspace};
}

Tensor BatchNormBlock::points_of(const Tensor& matrix) const {
  return by_points(matrix, options_.grid.points());
}

/// Adds up the sums of the ranks over whose samples, or boxes of samples, the statistics are.
void BatchNormBlock::add_up(const StepContext& context, const Tensor& sums) const {
  if (options_.over_ranks) {
    if (context.ranks != nullptr) context.ranks->add_up(context.exec, sums);
  } else if (options_.over_boxes && context.sample_ranks != nullptr) {
    context.sample_ranks->add_up(context.exec, sums);
  }
}

std::vector<SampleCall> BatchNormBlock::sample_calls(std::int64_t /*rows*/, const BlockPass& pass) const {
  if (!options_.over_boxes || options_.over_ranks || pass.is_recompute) return {};
  const auto sums = static_cast<std::size_t>(batch_norm_sums(options_.grid.channels));
  return {{.bytes = sizeof(double) * sums, .is_sum = true}};
}

void BatchNormBlock::take_statistics(const StepContext& context, const ConstTensor& x,
                                     const ParameterTensors& buffers, std::byte* workspace) const {
  const Tensor& sums = buffers["sums"];
  auto* const values = sums.as<double>();
  batch_norm_sum(context.exec, options_.grid, x, values, buffers["step_sums"].as<double>(), workspace);
  add_up(context, sums);
  batch_norm_statistics(context.exec, options_.grid.channels, values, options_.epsilon,
                        buffers["mean"].as<float>(), buffers["rstd"].as<float>());
}

void BatchNormBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("norm forward");
  const Forward own(*this, memory.input.rows(), memory.workspace);
  const ConstTensor x = cast(context.exec, memory.input, own.input);
  const ParameterTensors& buffers = memory.buffers;
  const float* mean = buffers["mean"].as<float>();
  const float* rstd = buffers["rstd"].as<float>();
  if (!context.training) {
    batch_norm_running_rstd(context.exec, options_.grid.channels, buffers["running_variance"].as<float>(),
                            options_.epsilon, own.running_rstd);
    mean = buffers["running_mean"].as<float>();
    rstd = own.running_rstd;
  } else if (!memory.is_recompute) {
    take_statistics(context, x, buffers, own.sums);
  }
  batch_norm_apply(context.exec, options_.grid, x, memory.weights["weight"], memory.weights["bias"], mean,
                   rstd, memory.output);
  if (options_.activation == Activation::none) return;
  const Tensor y = points_of(memory.output);
  activation_forward(context.exec, options_.activation, y, y, {});
}

/// In evaluation the statistics are constants: dx = gamma rstd dy.
void BatchNormBlock::running_input_gradient(const StepContext& context, const BlockMemory& memory,
                                            const Tensor& dy, const Tensor& dx) const {
  const ParameterTensors& buffers = memory.buffers;
  auto* const rstd = buffers["rstd"].as<float>();
  batch_norm_running_rstd(context.exec, options_.grid.channels, buffers["running_variance"].as<float>(),
                          options_.epsilon, rstd);
  set_to_zero(context.exec, buffers["mean"]);
  batch_norm_apply(context.exec, options_.grid, dy, memory.weights["weight"], {}, buffers["mean"].as<float>(),
                   rstd, dx);
}

void BatchNormBlock::backward(const StepContext& context, const BlockMemory& memory,
                              const BlockGradients& gradients) const {
  const Region region("norm backward");
  const NormBackward own = backward_pieces(memory.input.rows(), memory.workspace);
  const ConstTensor x = cast(context.exec, memory.input, own.input);
  const Tensor& sums = memory.buffers["sums"];
  const float* const mean = memory.buffers["mean"].as<float>();
  const float* const rstd = memory.buffers["rstd"].as<float>();
  const Tensor& dy = gradients.output;
  if (options_.activation != Activation::none) {
    activation_backward(context.exec, options_.activation, points_of(memory.output), points_of(dy),
                        points_of(dy), {}, false, {});
  }
  const bool casts = !own.input_gradient.empty();
  const Tensor dx = casts ? own.input_gradient : gradients.input;
  if (context.training) {
    batch_norm_sum_gradients(context.exec, options_.grid, x, dy, mean, rstd, sums.as<double>(),
                             gradients.weights["weight"], gradients.weights["bias"], gradients.accumulate,
                             own.kernels);
    add_up(context, sums);
    if (gradients.input.empty()) return;
    batch_norm_input_gradient(context.exec, options_.grid, x, dy, memory.weights["weight"], mean, rstd,
                              sums.as<double>(), dx, own.kernels);
  } else {
    running_input_gradient(context, memory, dy, dx);
  }
  if (casts) convert(context.exec, dx, gradients.input);
}

void BatchNormBlock::join_collectives(const StepContext& context, const ParameterTensors& buffers) const {
  if (!options_.over_ranks || context.ranks == nullptr) return;
  const Tensor& sums = buffers["sums"];
  set_to_zero(context.exec, sums);
  context.ranks->add_up(context.exec, sums);
}

void BatchNormBlock::move_state(const Execution& exec, const ParameterTensors& buffers,
                                const std::int32_t* apply) const {
  batch_norm_update_running(exec, options_.grid.channels, buffers["step_sums"].as<double>(),
                            options_.momentum, buffers["running_mean"].as<float>(),
                            buffers["running_variance"].as<float>(), apply);
}

}  // namespace mylos
