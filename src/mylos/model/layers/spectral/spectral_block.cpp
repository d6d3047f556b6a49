#include "mylos/model/layers/spectral/spectral_block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mylos/base/device/region.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/model/block/cast.hpp"
#include "mylos/model/sample_ranks.hpp"

namespace mylos {

namespace {

constexpr std::size_t saves_coefficients = 0;  // variant "all"

/// Returns the name of an axis's matrix, which determines it: "analysis_64_12_bf16". Odd numbers of modes
/// have the matrix of the even number below. Those of a box's points along a divided axis are the axis's own,
/// "analysis_64_12_bf16_height": then all ranks of a sample share as many.
std::string matrix_name(const char* transform, const SpectralShape& shape, std::size_t axis, DType type) {
  std::string name = fmt::format("{}_{}_{}_{}", transform, whole_grid(shape).extent[axis],
                                 shape.modes[axis] / 2 * 2, name_of(type));
  if (shape.part.has_boxes(axis)) name += fmt::format("_{}", axis_names[axis]);
  return name;
}

}  // namespace

struct SpectralBlock::Forward {
  Forward(const SpectralBlock& block, const Engines& engines, std::int64_t rows, bool saves,
          std::byte* workspace)
      : pieces(workspace),
        input(take_copy(pieces, block.options_.input_type, block.options_.type, rows,
                        block.signature_.inputs)) {
    const SpectralConvolution& convolution = block.convolution_;
    if (!saves) coefficients = block.coefficients_in(pieces, rows);
    transforms = pieces.take_bytes(std::max(convolution.analysis_workspace(engines, rows),
                                            convolution.synthesis_workspace(engines, rows)));
  }

  Pieces pieces;
  Tensor input;
  Tensor coefficients;  // if they are not saved
  std::byte* transforms;
};

struct SpectralBlock::Backward {
  Backward(const SpectralBlock& block, const Engines& engines, std::int64_t rows, bool recomputes, bool input,
           std::byte* workspace)
      : pieces(workspace) {
    const SpectralOptions& options = block.options_;
    const std::int64_t columns = block.signature_.inputs;
    std::size_t bytes = block.convolution_.backward_workspace(engines, rows, input);
    if (recomputes) {
      input_copy = take_copy(pieces, options.input_type, options.type, rows, columns);
      coefficients = block.coefficients_in(pieces, rows);
      bytes = std::max(bytes, block.convolution_.analysis_workspace(engines, rows));
    }
    if (input) input_gradient = take_copy(pieces, options.input_type, options.type, rows, columns);
    transforms = pieces.take_bytes(bytes);
  }

  Pieces pieces;
  Tensor input_copy;
  Tensor coefficients;    // recomputed
  Tensor input_gradient;  // before the cast to the input's type
  std::byte* transforms = nullptr;
};

SpectralBlock::SpectralBlock(SpectralOptions options)
    : options_(std::move(options)),
      convolution_(options_.shape, options_.type),
      signature_{.name = options_.name,
                 .kind = "spectral",
                 .inputs = options_.shape.input.columns(),
                 .outputs = output_grid(options_.shape).columns(),
                 .input_type = options_.input_type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    analysis_names_[axis] = matrix_name("analysis", options_.shape, axis, options_.type);
    synthesis_names_[axis] = matrix_name("synthesis", options_.shape, axis, options_.type);
  }
}

std::vector<ParameterSpec> SpectralBlock::parameters() const {
  const SpectralShape& shape = options_.shape;
  const double variance = 2 / static_cast<double>(shape.input.channels + shape.outputs);
  std::vector<ParameterSpec> specs;
  specs.push_back({.name = "weight",
                   .rows = mode_count(shape),
                   .columns = 2 * shape.input.channels * shape.outputs,
                   .is_matrix = true,
                   .type = options_.type,
                   .gradient_type = options_.gradient_type,
                   .decay_factor = 1,
                   .fan_in = shape.input.channels,
                   .fan_out = shape.outputs,
                   .initial_std = static_cast<float>(std::sqrt(variance / 2))});
  if (!options_.bias) return specs;
  specs.push_back({.name = "bias",
                   .rows = 1,
                   .columns = shape.outputs,
                   .type = options_.type,
                   .gradient_type = options_.gradient_type,
                   .initial_std = static_cast<float>(std::sqrt(variance))});
  return specs;
}

std::vector<BufferSpec> SpectralBlock::buffers() const {
  std::vector<BufferSpec> specs;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t points = whole_grid(options_.shape).extent[axis];
    const std::int64_t modes = options_.shape.modes[axis];
    const AxisBox box = box_of_axis(options_.shape.part, axis, 3, points);
    const std::int64_t boxes = options_.shape.part.sums[axis];
    const auto is_same = [&](const BufferSpec& spec) { return spec.name == analysis_names_[axis]; };
    if (points == 1 || std::any_of(specs.begin(), specs.end(), is_same)) continue;
    BufferSpec spec{.name = analysis_names_[axis],
                    .size = basis_size(modes) * box.count,
                    .type = options_.type,
                    .role = BufferRole::constant,
                    .values = [points, box, boxes, modes](std::int64_t first, std::span<float> numbers) {
                      write_analyses(points, box, boxes, modes, first, numbers);
                    }};
    specs.push_back(spec);
    spec.name = synthesis_names_[axis];
    spec.values = [points, box, modes](std::int64_t first, std::span<float> numbers) {
      write_synthesis(points, box, modes, first, numbers);
    };
    specs.push_back(std::move(spec));
  }
  return specs;
}

/// Returns the matrices in the buffers.
SpectralMatrices SpectralBlock::matrices_of(const ParameterTensors& buffers) const {
  SpectralMatrices matrices;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (whole_grid(options_.shape).extent[axis] == 1) continue;
    matrices.analysis[axis] = buffers[analysis_names_[axis]].data();
    matrices.synthesis[axis] = buffers[synthesis_names_[axis]].data();
  }
  return matrices;
}

SpectralStep SpectralBlock::step_of(const StepContext& context, const SpectralMatrices& matrices,
                                    std::byte* workspace) const {
  SpectralStep step{context.exec, context.engines, matrices, workspace};
  if (context.sample_ranks != nullptr && options_.shape.part.is_split())
    step.add_up = [&context](const Tensor& sums) { context.sample_ranks->add_up(context.exec, sums); };
  return step;
}

std::vector<SampleCall> SpectralBlock::sample_calls(std::int64_t rows, const BlockPass& pass) const {
  std::vector<SampleCall> calls;
  const auto add_up = [&](std::int64_t channels) {
    if (const std::size_t bytes = convolution_.sum_bytes(rows, channels); bytes > 0)
      calls.push_back({.bytes = bytes, .is_sum = true});
  };
  const bool analyses = !pass.is_backward || pass.variant != saves_coefficients;
  if (analyses) add_up(options_.shape.input.channels);
  if (pass.is_backward && pass.wants_input && !options_.first) add_up(options_.shape.outputs);
  return calls;
}

/// Takes memory for the coefficients of the input.
Tensor SpectralBlock::coefficients_in(Pieces& pieces, std::int64_t rows) const {
  return pieces.take_tensor(options_.type, mode_count(options_.shape),
                            convolution_.coefficient_columns(rows));
}

BlockCost SpectralBlock::cost(const Engines& engines, std::int64_t rows) const {
  if (const std::int64_t most = convolution_.max_samples(); rows > most) {
    fail_input(errors::too_large, "layer '{}' has more coefficients in {} samples than a kernel counts; {}",
               signature_.name, rows,
               most == 0 ? "one sample has too many: keep fewer modes"
                         : fmt::format("set data.micro_batch to at most {}", most));
  }
  BlockCost cost;
  cost.output_bytes = output_bytes(signature_, rows);
  cost.forward_workspace = Forward(*this, engines, rows, false, nullptr).pieces.bytes();
  const auto samples = static_cast<double>(rows);
  const double of_input = samples * convolution_.transform_flops(options_.shape.input.channels);
  const double of_output = samples * convolution_.transform_flops(options_.shape.outputs);
  const double mixing = samples * convolution_.mixing_flops();
  cost.forward_flops = of_input + mixing + of_output;
  cost.backward_flops = of_output + mixing + (options_.first ? 0 : mixing + of_input);
  Pieces saved(nullptr);
  static_cast<void>(coefficients_in(saved, rows));
  const auto backward_bytes = [&](bool recomputes) {
    return Backward(*this, engines, rows, recomputes, !options_.first, nullptr).pieces.bytes();
  };
  cost.variants.push_back({"all", saved.bytes(), backward_bytes(false), 0});
  cost.variants.push_back({"input", 0, backward_bytes(true), of_input});
  return cost;
}

void SpectralBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("spectral forward");
  const std::int64_t rows = memory.input.rows();
  const bool saves = memory.saved != nullptr && memory.variant == saves_coefficients;
  const Forward own(*this, context.engines, rows, saves, memory.workspace);
  Pieces saved(memory.saved);
  const Tensor coefficients = saves ? coefficients_in(saved, rows) : own.coefficients;
  const SpectralMatrices matrices = matrices_of(memory.buffers);
  const SpectralStep step = step_of(context, matrices, own.transforms);
  convolution_.analyse(step, cast(context.exec, memory.input, own.input), coefficients);
  convolution_.synthesise(step, coefficients, memory.weights["weight"],
                          options_.bias ? memory.weights["bias"] : Tensor(), memory.output);
}

void SpectralBlock::backward(const StepContext& context, const BlockMemory& memory,
                             const BlockGradients& gradients) const {
  const Region region("spectral back");
  const std::int64_t rows = memory.input.rows();
  const bool recomputes = memory.variant != saves_coefficients;
  const bool needs_input = !gradients.input.empty();
  const Backward own(*this, context.engines, rows, recomputes, needs_input, memory.workspace);
  const SpectralMatrices matrices = matrices_of(memory.buffers);
  const SpectralStep step = step_of(context, matrices, own.transforms);
  Pieces saved(memory.saved);
  const Tensor coefficients = recomputes ? own.coefficients : coefficients_in(saved, rows);
  if (recomputes) convolution_.analyse(step, cast(context.exec, memory.input, own.input_copy), coefficients);

  const bool casts = !own.input_gradient.empty();
  convolution_.backward(
      step, coefficients, memory.weights["weight"], gradients.output,
      {.weight = gradients.wants_weights ? gradients.weights["weight"] : Tensor(),
       .bias = options_.bias && gradients.wants_weights ? gradients.weights["bias"] : Tensor(),
       .input = casts ? own.input_gradient : gradients.input,
       .accumulate = gradients.accumulate});
  if (casts) convert(context.exec, own.input_gradient, gradients.input);
}

}  // namespace mylos
