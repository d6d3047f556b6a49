#include "mylos/model/batch_norm_block.hpp"

#include "mylos/base/region.hpp"
#include "mylos/kernels/activation.hpp"
#include "mylos/kernels/batch_norm.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/model/cast.hpp"

namespace mylos {

struct BatchNormBlock::Forward {
  Forward(const BatchNormOptions& options, std::int64_t rows, std::byte* workspace)
      : pieces(workspace),
        input(take_copy(pieces, options.input_type, options.type, rows, options.grid.columns())),
        running_rstd(pieces.take<float>(options.grid.channels)),
        sums(pieces.take_bytes(batch_norm_workspace(options.grid, rows))) {}

  Pieces pieces;
  Tensor input;
  float* running_rstd;  // of evaluations
  std::byte* sums;
};

struct BatchNormBlock::Backward {
  Backward(const BatchNormOptions& options, std::int64_t rows, std::byte* workspace)
      : pieces(workspace),
        input(take_copy(pieces, options.input_type, options.type, rows, options.grid.columns())),
        input_gradient(take_copy(pieces, options.input_type, options.type, rows, options.grid.columns())),
        sums(pieces.take_bytes(batch_norm_workspace(options.grid, rows))) {}

  Pieces pieces;
  Tensor input;
  Tensor input_gradient;  // before its cast to the input's type
  std::byte* sums;
};

BatchNormBlock::BatchNormBlock(BatchNormOptions options)
    : options_(std::move(options)),
      signature_{.name = options_.name,
                 .kind = "batchnorm",
                 .inputs = options_.grid.columns(),
                 .outputs = options_.grid.columns(),
                 .input_type = options_.input_type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {
  const bool is_fused = options_.activation == Activation::none || keeps_output(options_.activation, false);
  if (!is_fused)
    fail_run("layer '{}': the activation's derivative does not follow from its output", options_.name);
}

std::vector<ParameterSpec> BatchNormBlock::parameters() const {
  const ParameterSpec weight{.name = "weight",
                             .columns = options_.grid.channels,
                             .type = options_.type,
                             .gradient_type = options_.gradient_type,
                             .initial_value = 1};
  ParameterSpec bias = weight;
  bias.name = "bias";
  bias.initial_value = 0;
  return {weight, bias};
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

BlockCost BatchNormBlock::cost(const GemmEngine&, std::int64_t rows) const {
  BlockCost cost;
  cost.output_bytes =
      aligned_bytes(static_cast<std::size_t>(rows * signature_.outputs) * size_of(options_.type));
  cost.forward_workspace = Forward(options_, rows, nullptr).pieces.bytes();
  const auto elements = static_cast<double>(rows * signature_.outputs);
  cost.forward_flops = 8 * elements;
  cost.backward_flops = 14 * elements;
  cost.variants.push_back({"all", 0, Backward(options_, rows, nullptr).pieces.bytes(), 0});
  return cost;
}

/// A row for each point.
Tensor BatchNormBlock::by_points(const Tensor& matrix) const {
  return {matrix.data(), matrix.type(), matrix.rows() * options_.grid.points(), options_.grid.channels};
}

void BatchNormBlock::take_statistics(const StepContext& context, const Tensor& x,
                                     const ParameterTensors& buffers, std::byte* workspace) const {
  const Tensor& sums = buffers["sums"];
  auto* const values = sums.as<double>();
  batch_norm_sum(context.exec, options_.grid, x, values, buffers["step_sums"].as<double>(), workspace);
  if (options_.over_ranks && context.ranks != nullptr) context.ranks->add_up(context.exec, sums);
  batch_norm_statistics(context.exec, options_.grid.channels, values, options_.epsilon,
                        buffers["mean"].as<float>(), buffers["rstd"].as<float>());
}

void BatchNormBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("norm forward");
  const Forward own(options_, memory.input.rows(), memory.workspace);
  const Tensor x = cast(context.exec, memory.input, own.input);
  const ParameterTensors& buffers = memory.buffers;
  const float* mean = buffers["mean"].as<float>();
  const float* rstd = buffers["rstd"].as<float>();
  if (!context.training) {
    batch_norm_running_rstd(context.exec, options_.grid.channels, buffers["running_variance"].as<float>(),
                            options_.epsilon, own.running_rstd);
    mean = buffers["running_mean"].as<float>();
    rstd = own.running_rstd;
  } else if (!memory.again) {
    take_statistics(context, x, buffers, own.sums);
  }
  batch_norm_apply(context.exec, options_.grid, x, memory.weights["weight"], memory.weights["bias"], mean,
                   rstd, memory.output);
  if (options_.activation == Activation::none) return;
  const Tensor y = by_points(memory.output);
  activation_forward(context.exec, options_.activation, y, y, {});
}

void BatchNormBlock::backward(const StepContext& context, const BlockMemory& memory,
                              const BlockGradients& gradients) const {
  const Region region("norm backward");
  const Backward own(options_, memory.input.rows(), memory.workspace);
  const Tensor x = cast(context.exec, memory.input, own.input);
  const Tensor& sums = memory.buffers["sums"];
  const float* const mean = memory.buffers["mean"].as<float>();
  const float* const rstd = memory.buffers["rstd"].as<float>();
  const Tensor& dy = gradients.output;
  if (options_.activation != Activation::none) {
    activation_backward(context.exec, options_.activation, by_points(memory.output), by_points(dy),
                        by_points(dy), {}, false, {});
  }
  batch_norm_sum_gradients(context.exec, options_.grid, x, dy, mean, rstd, sums.as<double>(),
                           gradients.weights["weight"], gradients.weights["bias"], gradients.accumulate,
                           own.sums);
  if (options_.over_ranks && context.ranks != nullptr) context.ranks->add_up(context.exec, sums);
  if (gradients.input.empty()) return;
  const bool casts = !own.input_gradient.empty();
  const Tensor dx = casts ? own.input_gradient : gradients.input;
  batch_norm_input_gradient(context.exec, options_.grid, x, dy, memory.weights["weight"], mean, rstd,
                            sums.as<double>(), dx, own.sums);
  if (casts) convert(context.exec, dx, gradients.input);
}

void BatchNormBlock::stand_by(const StepContext& context, const ParameterTensors& buffers) const {
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
