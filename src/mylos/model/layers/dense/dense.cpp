#include "mylos/model/layers/dense/dense.hpp"

#include <algorithm>
#include <cmath>

#include "mylos/base/device/region.hpp"
#include "mylos/kernels/pointwise/activation.hpp"
#include "mylos/model/block/cast.hpp"
#include "mylos/model/block/linear.hpp"
#include "mylos/model/block/token_dropout.hpp"

namespace mylos {
namespace {

constexpr std::size_t saves_z = 0;  // variant "all"

Linear linear_of(const DenseOptions& options) {
  return {.inputs = options.inputs,
          .outputs = options.outputs,
          .relu = options.activation == Activation::relu,
          .needs_input_gradient = !options.first,
          .type = options.type,
          .gradient_type = options.gradient_type};
}

/// Returns whether backward reads the pre-activation z.
bool needs_pre_activation(const DenseOptions& options) {
  return options.activation != Activation::none && !keeps_output(options.activation, options.dropout > 0);
}

struct DenseForward {
  DenseForward(const DenseOptions& options, const Engines& engines, std::int64_t rows, std::byte* workspace)
      : pieces(workspace),
        input(take_copy(pieces, options.input_type, options.type, rows, options.inputs)),
        products(pieces.take_bytes(
            workspace != nullptr ? 0 : linear_of(options).forward_workspace(engines.gemm, rows))) {}

  Pieces pieces;
  Tensor input;
  std::byte* products;  // the last piece: its size is asked for only to count
};

struct DenseBackward {
  DenseBackward(const DenseOptions& options, const Engines& engines, std::int64_t rows, bool recomputes,
                std::byte* workspace)
      : pieces(workspace) {
    const Linear linear = linear_of(options);
    std::size_t product_bytes = linear.backward_workspace(engines.gemm, rows);
    input = take_copy(pieces, options.input_type, options.type, rows, options.inputs);
    if (recomputes) {
      pre_activation = pieces.take_tensor(options.type, rows, options.outputs);
      product_bytes = std::max(product_bytes, linear.forward_workspace(engines.gemm, rows));
    }
    if (!options.first)
      input_gradient = take_copy(pieces, options.input_type, options.type, rows, options.inputs);
    products = pieces.take_bytes(product_bytes);
  }

  Pieces pieces;
  Tensor input;
  Tensor pre_activation;  // recomputed
  Tensor input_gradient;  // before the cast to the input's type
  std::byte* products;
};

}  // namespace

Dense::Dense(DenseOptions options)
    : options_(std::move(options)),
      signature_{.name = options_.name,
                 .kind = "linear",
                 .inputs = options_.inputs,
                 .outputs = options_.outputs,
                 .input_type = options_.input_type,
                 .output_type = options_.type,
                 .compute_type = options_.type},
      dropout_stream_(options_.seed, RandomPurpose::dropout, options_.name) {}

std::vector<ParameterSpec> Dense::parameters() const {
  std::vector<ParameterSpec> specs;
  add_linear(specs, linear_of(options_), 0);
  // LeCun et al., "Efficient BackProp" (1998), as in PyTorch
  const auto bound = static_cast<float>(1.0 / std::sqrt(static_cast<double>(options_.inputs)));
  for (ParameterSpec& spec : specs) spec.initial_bound = bound;
  return specs;
}

BlockCost Dense::cost(const Engines& engines, std::int64_t rows) const {
  BlockCost cost;
  cost.output_bytes = output_bytes(signature_, rows);
  cost.forward_workspace = DenseForward(options_, engines, rows, nullptr).pieces.bytes();
  const double product = 2.0 * static_cast<double>(rows) * static_cast<double>(options_.inputs) *
                         static_cast<double>(options_.outputs);
  cost.forward_flops = product;
  cost.backward_flops = options_.first ? product : 2 * product;
  const bool needs_z = needs_pre_activation(options_);
  const auto backward_bytes = [&](bool recomputes) {
    return DenseBackward(options_, engines, rows, recomputes, nullptr).pieces.bytes();
  };
  cost.variants.push_back({"all", needs_z ? cost.output_bytes : 0, backward_bytes(false), 0});
  if (needs_z) cost.variants.push_back({"input", 0, backward_bytes(true), product});
  return cost;
}

std::vector<BlockProduct> Dense::products(std::int64_t rows) const {
  return linear_of(options_).products(rows);
}

void Dense::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("dense forward");
  const std::int64_t rows = memory.input.rows();
  const DenseForward own(options_, context.engines, rows, memory.workspace);
  const ConstTensor input = cast(context.exec, memory.input, own.input);
  const bool saves = needs_pre_activation(options_) && memory.saved != nullptr && memory.variant == saves_z;
  const Tensor z = saves ? Tensor(memory.saved, options_.type, rows, options_.outputs) : memory.output;
  const Linear linear = linear_of(options_);
  linear.forward(context, memory.weights, input, z, own.products);

  const Dropout dropout = token_dropout(context, dropout_stream_, options_.dropout, 1);
  const bool product_did_all = linear.relu || options_.activation == Activation::none;
  if (product_did_all && !dropout.active()) return;
  const Activation rest = product_did_all ? Activation::none : options_.activation;
  activation_forward(context.exec, rest, z, memory.output, dropout);
}

void Dense::backward(const StepContext& context, const BlockMemory& memory,
                     const BlockGradients& gradients) const {
  const Region region("dense backward");
  const std::int64_t rows = memory.input.rows();
  const bool needs_z = needs_pre_activation(options_);
  const bool recomputes = needs_z && memory.variant != saves_z;
  const DenseBackward own(options_, context.engines, rows, recomputes, memory.workspace);
  const Linear linear = linear_of(options_);

  const ConstTensor input = cast(context.exec, memory.input, own.input);
  if (recomputes) linear.forward(context, memory.weights, input, own.pre_activation, own.products);
  const Tensor saved(memory.saved, options_.type, rows, options_.outputs);
  const Tensor& derivative_source = !needs_z ? memory.output : recomputes ? own.pre_activation : saved;
  const Tensor& dz = gradients.output;
  activation_backward(context.exec, options_.activation, derivative_source, gradients.output, dz,
                      gradients.wants_weights
                          ? linear.bias_gradient(context.engines.gemm, gradients.weights, rows)
                          : Tensor(),
                      gradients.accumulate, token_dropout(context, dropout_stream_, options_.dropout, 1));

  if (!gradients.input.empty()) {
    const bool casts = !own.input_gradient.empty();
    const Tensor dx = casts ? own.input_gradient : gradients.input;
    linear.input_gradient(context, memory.weights, dz, dx, own.products);
    if (casts) convert(context.exec, dx, gradients.input);
  }
  if (!gradients.wants_weights) return;
  linear.weight_gradient(context, gradients.weights, gradients.accumulate, dz, input, own.products);
}

}  // namespace mylos
