#include "branch_products.hpp"

#include <algorithm>

#include "mylos/base/arena.hpp"

namespace mylos {

void add_linear(std::vector<ParameterSpec>& specs, const std::string& name, std::int64_t outputs,
                std::int64_t inputs, bool bias, float initial_std) {
  ParameterSpec weight{.name = name + "_weight", .rows = outputs, .columns = inputs, .is_matrix = true};
  weight.initial_std = initial_std;
  specs.push_back(weight);
  if (bias) specs.push_back({.name = name + "_bias", .rows = 1, .columns = outputs});
}

GemmProblem BranchProducts::output_product(const BranchLinear& linear, std::int64_t rows) const {
  GemmProblem problem = linear_output(rows, linear.inputs, linear.outputs, options_.type);
  problem.bias = options_.bias;
  problem.bias_type = options_.type;
  return problem;
}

GemmProblem BranchProducts::weight_product(const GemmEngine& gemm, const BranchLinear& linear,
                                           std::int64_t rows, bool accumulate) const {
  GemmProblem problem =
      linear_weight_gradient(rows, linear.inputs, linear.outputs, options_.type, options_.gradient_type);
  problem.accumulate = accumulate;
  return options_.bias ? with_row_sums(gemm, problem) : problem;
}

Tensor BranchProducts::bias_gradient(const GemmEngine& gemm, const BranchLinear& linear,
                                     const BlockGradients& gradients, std::int64_t rows) const {
  const bool summed = weight_product(gemm, linear, rows, gradients.accumulate).row_sums;
  return options_.bias && !summed ? gradients.weights[linear.weight + 1] : Tensor();
}

GemmProblem BranchProducts::input_product(const BranchLinear& linear, std::int64_t rows, bool add) const {
  GemmProblem problem = linear_input_gradient(rows, linear.inputs, linear.outputs, options_.type);
  problem.accumulate = add;
  return problem;
}

void BranchProducts::add_products(std::vector<BlockProduct>& products, const std::string& name,
                                  const BranchLinear& linear, std::int64_t rows) const {
  std::vector<BlockProduct> own =
      products_of_linear(name, rows, linear.inputs, linear.outputs, options_.type, options_.gradient_type);
  own.front().problem = output_product(linear, rows);
  products.insert(products.end(), own.begin(), own.end());
}

std::size_t BranchProducts::forward_workspace(const GemmEngine& gemm, const BranchLinear& linear,
                                              std::int64_t rows) const {
  return aligned_bytes(gemm.workspace_bytes(output_product(linear, rows)));
}

std::size_t BranchProducts::backward_workspace(const GemmEngine& gemm, const BranchLinear& linear,
                                               std::int64_t rows) const {
  std::size_t bytes = std::max({gemm.workspace_bytes(weight_product(gemm, linear, rows, false)),
                                gemm.workspace_bytes(input_product(linear, rows, false)),
                                gemm.workspace_bytes(input_product(linear, rows, true))});
  if (options_.accumulates) {
    bytes = std::max(bytes, gemm.workspace_bytes(weight_product(gemm, linear, rows, true)));
  }
  return aligned_bytes(bytes);
}

void BranchProducts::forward(const StepContext& context, const BranchLinear& linear,
                             const BlockMemory& memory, const Tensor& x, const Tensor& y,
                             std::byte* workspace) const {
  const void* bias = options_.bias ? memory.weights[linear.weight + 1].data() : nullptr;
  context.gemm.run(context.exec, output_product(linear, x.rows()),
                   {x.data(), memory.weights[linear.weight].data(), y.data(), bias}, workspace);
}

void BranchProducts::weight_gradient(const StepContext& context, const BranchLinear& linear,
                                     const BlockGradients& gradients, const Tensor& dy, const Tensor& x,
                                     std::byte* workspace) const {
  void* bias = options_.bias ? gradients.weights[linear.weight + 1].data() : nullptr;
  context.gemm.run(context.exec, weight_product(context.gemm, linear, x.rows(), gradients.accumulate),
                   {dy.data(), x.data(), gradients.weights[linear.weight].data(), nullptr, bias}, workspace);
}

void BranchProducts::input_gradient(const StepContext& context, const BranchLinear& linear,
                                    const BlockMemory& memory, const Tensor& dy, const Tensor& dx,
                                    std::byte* workspace, bool add) const {
  context.gemm.run(context.exec, input_product(linear, dy.rows(), add),
                   {dy.data(), memory.weights[linear.weight].data(), dx.data()}, workspace);
}

}  // namespace mylos
