#include "mylos/model/block/linear.hpp"

#include <algorithm>

namespace mylos {

GemmProblem Linear::output_product(std::int64_t rows) const {
  GemmProblem problem = linear_output(rows, inputs, outputs, type);
  problem.bias = bias;
  problem.relu = relu;
  return problem;
}

GemmProblem Linear::weight_product(const GemmEngine& gemm, std::int64_t rows, bool accumulate) const {
  GemmProblem problem = linear_weight_gradient(rows, inputs, outputs, type, gradient_type);
  problem.accumulate = accumulate;
  return bias ? with_row_sums(gemm, problem) : problem;
}

GemmProblem Linear::input_product(std::int64_t rows, bool add) const {
  GemmProblem problem = linear_input_gradient(rows, inputs, outputs, type);
  problem.accumulate = add;
  return problem;
}

std::vector<BlockProduct> Linear::products(std::int64_t rows) const {
  std::vector<BlockProduct> products{
      {name, output_product(rows)},
      {name, linear_weight_gradient(rows, inputs, outputs, type, gradient_type), 1, bias}};
  if (needs_input_gradient) products.push_back({name, input_product(rows, false)});
  return products;
}

std::size_t Linear::forward_workspace(const GemmEngine& gemm, std::int64_t rows) const {
  return gemm.workspace_bytes(output_product(rows));
}

std::size_t Linear::backward_workspace(const GemmEngine& gemm, std::int64_t rows) const {
  const std::size_t bytes = gemm.workspace_bytes(weight_product(gemm, rows, false));
  return needs_input_gradient ? std::max(bytes, gemm.workspace_bytes(input_product(rows, false))) : bytes;
}

void Linear::forward(const StepContext& context, const ParameterTensors& weights, const ConstTensor& x,
                     const Tensor& y, std::byte* workspace) const {
  const ParameterTensors own = weights.of(name);
  const Tensor* const packed = own.find("packed");
  context.engines.gemm.run(context.exec, output_product(x.rows()),
                           {.a = x.data(),
                            .b = own["weight"].data(),
                            .c = y.data(),
                            .bias = bias ? own["bias"].data() : nullptr,
                            .packed_b = packed != nullptr ? packed->data() : nullptr},
                           workspace);
}

void Linear::weight_gradient(const StepContext& context, const ParameterTensors& gradients, bool accumulate,
                             const Tensor& dy, const ConstTensor& x, std::byte* workspace) const {
  void* sums = bias ? gradients.of(name)["bias"].data() : nullptr;
  context.engines.gemm.run(context.exec, weight_product(context.engines.gemm, x.rows(), accumulate),
                           {dy.data(), x.data(), gradients.of(name)["weight"].data(), nullptr, sums},
                           workspace);
}

void Linear::input_gradient(const StepContext& context, const ParameterTensors& weights, const Tensor& dy,
                            const Tensor& dx, std::byte* workspace, bool add) const {
  context.engines.gemm.run(context.exec, input_product(dy.rows(), add),
                           {dy.data(), weights.of(name)["weight"].data(), dx.data()}, workspace);
}

bool Linear::passes_gelu(const GemmEngine& gemm, std::int64_t rows) const {
  return gemm.multiplies_by_gelu(input_product(rows, false));
}

void Linear::gelu_input_gradient(const StepContext& context, const ParameterTensors& weights,
                                 const Tensor& dy, const Tensor& z, const Tensor& dz,
                                 std::byte* workspace) const {
  GemmProblem problem = input_product(dy.rows(), false);
  problem.gelu_derivative = true;
  GemmOperands operands{dy.data(), weights.of(name)["weight"].data(), dz.data()};
  operands.gelu_input = z.data();
  context.engines.gemm.run(context.exec, problem, operands, workspace);
}

Tensor Linear::bias_gradient(const GemmEngine& gemm, const ParameterTensors& gradients,
                             std::int64_t rows) const {
  const bool summed = weight_product(gemm, rows, false).row_sums;
  return bias && !summed ? gradients.of(name)["bias"] : Tensor();
}

std::vector<Linear> linears_of(const BranchOptions& branch, const std::vector<LinearShape>& shapes) {
  std::vector<Linear> linears;
  for (const LinearShape& shape : shapes) {
    linears.push_back({.name = shape.name,
                       .inputs = shape.inputs,
                       .outputs = shape.outputs,
                       .bias = branch.bias,
                       .type = branch.type,
                       .gradient_type = branch.gradient_type});
  }
  return linears;
}

std::vector<BlockProduct> products_of(std::initializer_list<Linear> linears, std::int64_t rows) {
  std::vector<BlockProduct> all;
  for (const Linear& linear : linears) {
    for (BlockProduct& product : linear.products(rows)) all.push_back(std::move(product));
  }
  return all;
}

void add_linear(std::vector<ParameterSpec>& specs, const Linear& linear, float initial_std) {
  specs.push_back({.name = parameter_name(linear.name, "weight"),
                   .rows = linear.outputs,
                   .columns = linear.inputs,
                   .is_matrix = true,
                   .type = linear.type,
                   .gradient_type = linear.gradient_type,
                   .decay_factor = 1,
                   .initial_std = initial_std});
  if (!linear.bias) return;
  specs.push_back({.name = parameter_name(linear.name, "bias"),
                   .columns = linear.outputs,
                   .type = linear.type,
                   .gradient_type = linear.gradient_type});
}

}  // namespace mylos
