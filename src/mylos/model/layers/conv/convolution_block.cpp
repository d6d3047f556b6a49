#include "mylos/model/layers/conv/convolution_block.hpp"

#include <algorithm>
#include <cmath>

#include "mylos/base/device/region.hpp"
#include "mylos/kernels/grid/by_points.hpp"
#include "mylos/kernels/pointwise/activation.hpp"
#include "mylos/kernels/pointwise/fields/box_of_part.hpp"
#include "mylos/model/block/cast.hpp"
#include "mylos/model/block/token_dropout.hpp"

namespace mylos {

namespace {
constexpr std::size_t saves_pre_activation = 0;  // variant "all"

/// Extends a matrix by the points around its boxes; as it is if there are none.
ConstTensor extend_box(const StepContext& context, const Halo& halo, const ConstTensor& matrix,
                       const Tensor& extended, std::byte* workspace) {
  if (extended.empty()) return matrix;
  halo.extend(context.exec, context.sample_ranks, matrix, extended, workspace);
  return extended;
}

/// Returns the convolution of the weight gradient of one box of sums; nothing if the rank's box is one.
std::optional<Convolution> sums_of_box(const ConvolutionOptions& options) {
  const GridPart& part = options.part;
  if (part.sum_boxes() == 1) return std::nullopt;
  ConvolutionShape shape = options.shape;
  for (std::size_t axis = 0; axis < 3; ++axis) shape.input.extent[axis] /= part.sums[axis];
  const SplitConvolution of_box = split(shape, part.first_sum_box());
  return std::make_optional<Convolution>(shape.transposed ? of_box.backward : of_box.forward, options.type);
}
}  // namespace

struct ConvolutionBlock::Forward {
  Forward(const ConvolutionBlock& block, const Engines& engines, std::int64_t rows, std::byte* workspace)
      : pieces(workspace),
        input(
            take_copy(pieces, block.options_.input_type, block.options_.type, rows, block.signature_.inputs)),
        extended(block.split_.input.take_extended(pieces, block.options_.type, rows)),
        products(pieces.take_bytes(block.workspace_bytes(engines, rows))) {}

  Pieces pieces;
  Tensor input;
  Tensor extended;
  std::byte* products;  // and faces
};

struct ConvolutionBlock::Backward {
  Backward(const ConvolutionBlock& block, const Engines& engines, std::int64_t rows, bool recomputes,
           std::byte* workspace)
      : pieces(workspace) {
    const ConvolutionOptions& options = block.options_;
    input = take_copy(pieces, options.input_type, options.type, rows, block.signature_.inputs);
    extended = block.split_.input.take_extended(pieces, options.type, rows);
    if (recomputes) pre_activation = pieces.take_tensor(options.type, rows, block.signature_.outputs);
    if (!options.first)
      input_gradient = take_copy(pieces, options.input_type, options.type, rows, block.signature_.inputs);
    if (!options.first) surplus_gradient = block.split_.surplus.take_extended(pieces, options.type, rows);
    if (block.extends_gradient())
      extended_gradient = block.split_.output.take_extended(pieces, options.type, rows);
    input_of_box = block.input_boxes_.take_points(pieces, options.type, rows);
    gradient_of_box = block.output_boxes_.take_points(pieces, options.type, rows);
    weight_sums = block.input_boxes_.take_sums(pieces, DType::fp32,
                                               weight_rows(options.shape) * weight_columns(options.shape));
    bias_sums = block.input_boxes_.take_sums(pieces, DType::fp32, options.bias ? options.shape.outputs : 0);
    products = pieces.take_bytes(block.workspace_bytes(engines, rows));
  }

  Pieces pieces;
  Tensor input;
  Tensor extended;
  Tensor pre_activation;     // recomputed
  Tensor input_gradient;     // before the cast to the input's type
  Tensor surplus_gradient;   // of the input with the points around it
  Tensor extended_gradient;  // of the output
  Tensor input_of_box;       // of sums
  Tensor gradient_of_box;    // of its output
  Tensor weight_sums;
  Tensor bias_sums;
  std::byte* products;  // and faces
};

ConvolutionBlock::ConvolutionBlock(ConvolutionOptions options)
    : options_(std::move(options)),
      split_(split(options_.shape, options_.part)),
      output_(output_grid(options_.shape)),
      forward_(split_.forward, options_.type),
      backward_(split_.backward, options_.type),
      input_boxes_(options_.shape.input, options_.part,
                   options_.shape.transposed ? HaloWidths{} : split_.input.widths()),
      output_boxes_(output_, options_.part,
                    options_.shape.transposed ? split_.output.widths() : HaloWidths{}),
      sums_of_box_(sums_of_box(options_)),
      signature_{.name = options_.name,
                 .kind = "conv",
                 .inputs = options_.shape.input.columns(),
                 .outputs = output_.columns(),
                 .input_type = options_.input_type,
                 .output_type = options_.type,
                 .compute_type = options_.type},
      dropout_stream_(options_.seed, RandomPurpose::dropout, options_.name),
      output_box_(box_of_part(output_, options_.part)) {
  for (const ConvolutionShape& shape : backward_of_boxes(options_.shape, options_.part))
    backward_of_boxes_.emplace_back(shape, options_.type);
}

std::vector<ParameterSpec> convolution_parameters(const ConvolutionShape& shape, bool bias, DType type,
                                                  DType gradient_type) {
  const std::int64_t taken = weight_columns(shape);
  // LeCun et al., "Efficient BackProp" (1998), as in PyTorch
  const auto bound = static_cast<float>(1.0 / std::sqrt(static_cast<double>(taken)));
  std::vector<ParameterSpec> specs;
  specs.push_back({.name = "weight",
                   .rows = weight_rows(shape),
                   .columns = taken,
                   .taps = shape.taps(),
                   .is_matrix = true,
                   .type = type,
                   .gradient_type = gradient_type,
                   .decay_factor = 1,
                   .initial_bound = bound});
  if (!bias) return specs;
  specs.push_back({.name = "bias",
                   .rows = 1,
                   .columns = shape.outputs,
                   .type = type,
                   .gradient_type = gradient_type,
                   .initial_bound = bound});
  return specs;
}

std::vector<ParameterSpec> ConvolutionBlock::parameters() const {
  return convolution_parameters(options_.shape, options_.bias, options_.type, options_.gradient_type);
}

/// Returns whether backward reads the pre-activation z.
bool ConvolutionBlock::needs_pre_activation() const {
  return options_.activation != Activation::none && !keeps_output(options_.activation, options_.dropout > 0);
}

std::vector<SampleCall> ConvolutionBlock::sample_calls(std::int64_t rows, const BlockPass& pass) const {
  const bool recomputes = needs_pre_activation() && pass.variant != saves_pre_activation;
  std::vector<SampleCall> calls;
  if (!pass.is_backward || recomputes || !options_.shape.transposed)
    split_.input.add_calls(options_.type, rows, calls);
  if (pass.is_backward && extends_gradient() && (pass.wants_input || options_.shape.transposed))
    split_.output.add_calls(options_.type, rows, calls);
  return calls;
}

BlockCost ConvolutionBlock::cost(const Engines& engines, std::int64_t rows) const {
  BlockCost cost;
  cost.output_bytes = output_bytes(signature_, rows);
  cost.forward_workspace = Forward(*this, engines, rows, nullptr).pieces.bytes();
  const double product = static_cast<double>(rows) * flops_of(options_.shape);
  cost.forward_flops = product;
  cost.backward_flops = options_.first ? product : 2 * product;
  const SparedFlops spared = spared_flops(engines);
  const auto samples = static_cast<double>(rows);
  cost.spared_forward_flops = samples * spared.forward;
  cost.spared_backward_flops =
      samples * (spared.weight_gradient + (options_.first ? 0 : spared.input_gradient));
  const bool needs_z = needs_pre_activation();
  const auto backward_bytes = [&](bool recomputes) {
    return Backward(*this, engines, rows, recomputes, nullptr).pieces.bytes();
  };
  cost.variants.push_back({"all", needs_z ? cost.output_bytes : 0, backward_bytes(false), 0});
  if (needs_z) cost.variants.push_back({"input", 0, backward_bytes(true), product});
  return cost;
}

std::size_t ConvolutionBlock::workspace_bytes(const Engines& engines, std::int64_t rows) const {
  std::size_t bytes =
      std::max({forward_.workspace_bytes(engines, rows), backward_.workspace_bytes(engines, rows),
                sums().workspace_bytes(engines, rows), split_.input.workspace_bytes(options_.type, rows),
                split_.output.workspace_bytes(options_.type, rows)});
  for (const Convolution& backward : backward_of_boxes_)
    bytes = std::max(bytes, backward.workspace_bytes(engines, rows));
  return bytes;
}

/// Of the operations of the box: those of convolutions that read more points by their definition do not
/// count.
SparedFlops ConvolutionBlock::spared_flops(const Engines& engines) const {
  const auto of_box = [&](const Convolution& convolution, double spared, int times = 1) {
    return std::max(0.0, times * (spared - flops_of(convolution.shape())) + flops_of(options_.shape));
  };
  const Convolution& backward = backward_of_boxes_.empty() ? backward_ : backward_of_boxes_.front();
  return {
      .forward = of_box(forward_, forward_.spared_flops(engines).forward),
      .input_gradient = of_box(backward, backward.spared_flops(engines).input_gradient),
      .weight_gradient = of_box(sums(), sums().spared_flops(engines).weight_gradient, input_boxes_.count())};
}

void ConvolutionBlock::convolve(const StepContext& context, const ParameterTensors& weights,
                                const ConstTensor& x, const Tensor& z, std::byte* workspace) const {
  forward_.forward(context.exec, context.engines, x, weights["weight"],
                   options_.bias ? weights["bias"] : Tensor(), z, workspace);
}

Dropout ConvolutionBlock::dropout(const StepContext& context) const {
  return point_dropout(context, dropout_stream_, options_.dropout, output_.points(), output_box_);
}

void ConvolutionBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("conv forward");
  const std::int64_t rows = memory.input.rows();
  const Forward own(*this, context.engines, rows, memory.workspace);
  const bool saves =
      needs_pre_activation() && memory.saved != nullptr && memory.variant == saves_pre_activation;
  const Tensor z = saves ? Tensor(memory.saved, options_.type, rows, signature_.outputs) : memory.output;
  const ConstTensor input = extend_box(context, split_.input, cast(context.exec, memory.input, own.input),
                                       own.extended, own.products);
  convolve(context, memory.weights, input, z, own.products);

  const std::int64_t points = output_.points();
  const Dropout drops = dropout(context);
  if (options_.activation == Activation::none && !drops.active()) return;
  activation_forward(context.exec, options_.activation, by_points(z, points),
                     by_points(memory.output, points), drops);
}

void ConvolutionBlock::backward(const StepContext& context, const BlockMemory& memory,
                                const BlockGradients& gradients) const {
  const Region region("conv backward");
  const std::int64_t rows = memory.input.rows();
  const bool needs_z = needs_pre_activation();
  const bool recomputes = needs_z && memory.variant != saves_pre_activation;
  const Backward own(*this, context.engines, rows, recomputes, memory.workspace);

  const ConstTensor box = cast(context.exec, memory.input, own.input);
  const bool sums_input = gradients.wants_weights && !options_.shape.transposed;
  const ConstTensor input =
      recomputes || sums_input ? extend_box(context, split_.input, box, own.extended, own.products) : box;
  if (recomputes) convolve(context, memory.weights, input, own.pre_activation, own.products);
  const Tensor saved(memory.saved, options_.type, rows, signature_.outputs);
  const Tensor& derivative_source = !needs_z ? memory.output : recomputes ? own.pre_activation : saved;
  const Tensor& dz = gradients.output;
  const std::int64_t points = output_.points();
  const bool sums_with_derivative = options_.bias && gradients.wants_weights && output_boxes_.is_one();
  activation_backward(context.exec, options_.activation, by_points(derivative_source, points),
                      by_points(dz, points), by_points(dz, points),
                      sums_with_derivative ? gradients.weights["bias"] : Tensor(), gradients.accumulate,
                      dropout(context));

  const bool sums_gradient = gradients.wants_weights && options_.shape.transposed;
  const Tensor around = own.extended_gradient.empty() ? dz : own.extended_gradient;
  if (!gradients.input.empty() || sums_gradient)
    static_cast<void>(extend_box(context, split_.output, dz, own.extended_gradient, own.products));
  if (!gradients.input.empty()) {
    const bool casts = !own.input_gradient.empty();
    const Tensor dx = casts ? own.input_gradient : gradients.input;
    const bool drops = !own.surplus_gradient.empty();
    const Tensor& computed = drops ? own.surplus_gradient : dx;
    backward_.input_gradient(context.exec, context.engines, around, memory.weights["weight"], computed,
                             own.products);
    if (drops) crop_grid(context.exec, split_.surplus.margins(), computed, dx);
    if (casts) convert(context.exec, dx, gradients.input);
  }
  if (!gradients.wants_weights) return;
  if (options_.bias && !sums_with_derivative) sum_bias_by_boxes(context.exec, own, dz, gradients);
  sum_weights(context, own, sums_gradient ? box : input, sums_gradient ? around : dz, gradients);
}

void ConvolutionBlock::sum_weights(const StepContext& context, const Backward& own, const ConstTensor& x,
                                   const Tensor& dz, const BlockGradients& gradients) const {
  const Tensor& dw = gradients.weights["weight"];
  for (int box = 0; box < input_boxes_.count(); ++box) {
    sums().weight_gradient(context.exec, context.engines,
                           input_boxes_.points_of(context.exec, box, x, own.input_of_box),
                           output_boxes_.points_of(context.exec, box, dz, own.gradient_of_box),
                           sum_of_box(own.weight_sums, box, dw), {},
                           input_boxes_.is_one() && gradients.accumulate, own.products);
  }
  add_sums_of_boxes(context.exec, own.weight_sums, dw, gradients.accumulate);
}

void ConvolutionBlock::sum_bias_by_boxes(const Execution& exec, const Backward& own, const ConstTensor& dz,
                                         const BlockGradients& gradients) const {
  const SumBoxes boxes(output_, options_.part);
  const Tensor points(own.gradient_of_box.data(), dz.type(), dz.rows(), boxes.grid().columns());
  const Tensor of_points = by_points(points, boxes.grid().points());
  const Tensor& db = gradients.weights["bias"];
  for (int box = 0; box < boxes.count(); ++box) {
    boxes.copy_points(exec, box, dz, points);
    activation_backward(exec, Activation::none, {}, of_points, of_points, sum_of_box(own.bias_sums, box, db),
                        false, {});
  }
  add_sums_of_boxes(exec, own.bias_sums, db, gradients.accumulate);
}

}  // namespace mylos
