#include "mylos/model/dense.hpp"

#include <algorithm>
#include <cmath>

#include "mylos/base/region.hpp"
#include "mylos/kernels/activation.hpp"
#include "mylos/model/cast.hpp"

namespace mylos {
namespace {

GemmProblem forward_product(const DenseOptions& options, std::int64_t rows, bool relu) {
  GemmProblem problem = linear_output(rows, options.inputs, options.outputs, options.type);
  problem.bias = true;
  problem.bias_type = options.type;
  problem.relu = relu;
  return problem;
}

GemmProblem weight_gradient_product(const DenseOptions& options, const GemmEngine& gemm, std::int64_t rows,
                                    bool accumulate) {
  GemmProblem problem =
      linear_weight_gradient(rows, options.inputs, options.outputs, options.type, options.gradient_type);
  problem.accumulate = accumulate;
  return with_row_sums(gemm, problem);
}

GemmProblem input_gradient_product(const DenseOptions& options, std::int64_t rows) {
  return linear_input_gradient(rows, options.inputs, options.outputs, options.type);
}

constexpr std::size_t keeps_z = 0;  // variant "all"

/// True where backward needs the pre-activation z.
bool needs_pre_activation(const DenseOptions& options) {
  return options.activation != Activation::none && !keeps_output(options.activation, options.dropout > 0);
}

/// Where the parts of the backward workspace start.
struct DenseBackward {
  std::size_t pre_activation = 0;  // computed again
  std::size_t input_gradient = 0;  // dx before its cast to the input's type
  std::size_t gemm = 0;
  std::size_t bytes = 0;
};

std::size_t output_bytes(const DenseOptions& options, std::int64_t rows) {
  return aligned_bytes(static_cast<std::size_t>(rows * options.outputs) * size_of(options.type));
}

DenseBackward backward_workspace(const DenseOptions& options, const GemmEngine& gemm, std::int64_t rows,
                                 bool recomputes) {
  const std::size_t cast = cast_bytes(rows * options.inputs, options.input_type, options.type);
  std::size_t product =
      aligned_bytes(gemm.workspace_bytes(weight_gradient_product(options, gemm, rows, false)));
  if (options.accumulates) {
    product = std::max(
        product, aligned_bytes(gemm.workspace_bytes(weight_gradient_product(options, gemm, rows, true))));
  }
  DenseBackward layout;
  layout.pre_activation = cast;
  layout.input_gradient = cast;
  if (recomputes) {
    layout.input_gradient += output_bytes(options, rows);
    product = std::max(product, aligned_bytes(gemm.workspace_bytes(forward_product(options, rows, false))));
  }
  layout.gemm = layout.input_gradient;
  if (!options.first) {
    layout.gemm += cast;
    product = std::max(product, aligned_bytes(gemm.workspace_bytes(input_gradient_product(options, rows))));
  }
  layout.bytes = layout.gemm + product;
  return layout;
}

}  // namespace

Dense::Dense(DenseOptions options)
    : options_(std::move(options)), dropout_stream_(options_.seed, RandomPurpose::dropout, options_.name) {}

std::vector<ParameterSpec> Dense::parameters() const {
  const auto bound = static_cast<float>(1.0 / std::sqrt(static_cast<double>(options_.inputs)));
  ParameterSpec weight{
      .name = "weight", .rows = options_.outputs, .columns = options_.inputs, .is_matrix = true};
  ParameterSpec bias{.name = "bias", .rows = 1, .columns = options_.outputs};
  weight.initial_bound = bias.initial_bound =
      bound;  // LeCun et al., "Efficient BackProp" (1998), as in PyTorch
  return {weight, bias};
}

BlockCost Dense::cost(const GemmEngine& gemm, std::int64_t rows) const {
  const bool relu = options_.activation == Activation::relu;
  BlockCost cost;
  cost.output_bytes = output_bytes(options_, rows);
  cost.forward_workspace = cast_bytes(rows * options_.inputs, options_.input_type, options_.type) +
                           aligned_bytes(gemm.workspace_bytes(forward_product(options_, rows, relu)));
  const double product = 2.0 * static_cast<double>(rows) * static_cast<double>(options_.inputs) *
                         static_cast<double>(options_.outputs);
  cost.forward_flops = product;
  cost.backward_flops = options_.first ? product : 2 * product;
  const bool needs_z = needs_pre_activation(options_);
  cost.variants.push_back(
      {"all", needs_z ? cost.output_bytes : 0, backward_workspace(options_, gemm, rows, false).bytes, 0});
  if (needs_z) {
    cost.variants.push_back({"input", 0, backward_workspace(options_, gemm, rows, true).bytes, product});
  }
  return cost;
}

std::vector<BlockProduct> Dense::products(std::int64_t rows) const {
  std::vector<BlockProduct> products = products_of_linear(
      "", rows, options_.inputs, options_.outputs, options_.type, options_.gradient_type, !options_.first);
  products.front().problem = forward_product(options_, rows, options_.activation == Activation::relu);
  return products;
}

void Dense::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("dense forward");
  const std::int64_t rows = memory.input.rows();
  const bool relu = options_.activation == Activation::relu;
  const Tensor input = cast(context.exec, memory.input, options_.type, memory.workspace);
  std::byte* gemm_workspace =
      memory.workspace + cast_bytes(memory.input.size(), options_.input_type, options_.type);
  const bool keeps = needs_pre_activation(options_) && memory.saved != nullptr && memory.variant == keeps_z;
  const Tensor z = keeps ? Tensor(memory.saved, options_.type, rows, options_.outputs) : memory.output;
  context.gemm.run(context.exec, forward_product(options_, rows, relu),
                   {input.data(), memory.weights[0].data(), z.data(), memory.weights[1].data()},
                   gemm_workspace);

  Dropout dropout;
  if (context.training && options_.dropout > 0) {
    dropout = {dropout_stream_, static_cast<float>(options_.dropout), context.step, context.first_sample};
  }
  const bool product_did_all = relu || options_.activation == Activation::none;
  if (product_did_all && dropout.probability == 0) return;
  const Activation rest = product_did_all ? Activation::none : options_.activation;
  activation_forward(context.exec, rest, z, memory.output, dropout);
}

void Dense::backward(const StepContext& context, const BlockMemory& memory,
                     const BlockGradients& gradients) const {
  const Region region("dense backward");
  const std::int64_t rows = memory.input.rows();
  const bool needs_z = needs_pre_activation(options_);
  const bool recomputes = needs_z && memory.variant != keeps_z;
  const DenseBackward layout = backward_workspace(options_, context.gemm, rows, recomputes);
  std::byte* gemm_workspace = memory.workspace + layout.gemm;

  Dropout dropout;
  if (options_.dropout > 0) {
    dropout = {dropout_stream_, static_cast<float>(options_.dropout), context.step, context.first_sample};
  }
  const Tensor input = cast(context.exec, memory.input, options_.type, memory.workspace);
  std::byte* place_of_z = recomputes ? memory.workspace + layout.pre_activation : memory.saved;
  if (recomputes) {
    context.gemm.run(context.exec, forward_product(options_, rows, false),
                     {input.data(), memory.weights[0].data(), place_of_z, memory.weights[1].data()},
                     gemm_workspace);
  }
  const Tensor kept = needs_z ? Tensor(place_of_z, options_.type, rows, options_.outputs) : memory.output;
  const Tensor& dz = gradients.output;
  const GemmProblem weight_gradient =
      weight_gradient_product(options_, context.gemm, rows, gradients.accumulate);
  const Tensor bias_gradient = weight_gradient.row_sums ? Tensor() : gradients.weights[1];
  activation_backward(context.exec, options_.activation, kept, gradients.output, dz, bias_gradient,
                      gradients.accumulate, dropout);

  if (!gradients.input.empty()) {
    const bool casts = options_.input_type != options_.type;
    void* dx = casts ? memory.workspace + layout.input_gradient : gradients.input.data();
    context.gemm.run(context.exec, input_gradient_product(options_, rows),
                     {dz.data(), memory.weights[0].data(), dx}, gemm_workspace);
    if (casts) convert(context.exec, Tensor(dx, options_.type, rows, options_.inputs), gradients.input);
  }
  context.gemm.run(
      context.exec, weight_gradient,
      {dz.data(), input.data(), gradients.weights[0].data(), nullptr, gradients.weights[1].data()},
      gemm_workspace);
}

}  // namespace mylos
