#include "mylos/kernels/convolution/convolution.hpp"

#include <algorithm>
#include <vector>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/convolution/convolution_by_gemm.hpp"
#include "mylos/kernels/convolution/convolution_by_library.hpp"
#include "mylos/kernels/pointwise/residual.hpp"

namespace mylos {
namespace {

void check_matrix(const char* what, const ConstTensor& tensor, DType type, std::int64_t rows,
                  std::int64_t columns) {
  if (tensor.type() == type && tensor.rows() == rows && tensor.columns() == columns) return;
  fail_run(errors::internal, "a convolution's {} is {} x {} of {}; it must be {} x {} of {}", what,
           tensor.rows(), tensor.columns(), name_of(tensor.type()), rows, columns, name_of(type));
}

void check_weights(const char* what, const ConvolutionShape& shape, const ConstTensor& weights, DType type) {
  check_matrix(what, weights, type, weight_rows(shape), weight_columns(shape));
}

void check_bias(const ConvolutionShape& shape, const ConstTensor& bias, DType type) {
  if (!bias.empty()) check_matrix("bias", bias, type, 1, shape.outputs);
}

/// Applies the map or its adjoint.
void run_map(const Execution& exec, const Engines& engines, const ConvolutionShape& shape, DType type,
             bool adjoint, const GatheredOperands& operands, std::int64_t samples, void* workspace) {
  const auto pass = adjoint ? ConvolutionPass::adjoint : ConvolutionPass::apply;
  const auto by_library = ConvolutionByLibrary::find(engines.libraries, shape, pass, type);
  if (by_library && by_library->run(exec, operands, samples, workspace)) return;
  const auto by_gemm = adjoint ? convolution_by_gemm::apply_adjoint : convolution_by_gemm::apply;
  by_gemm(exec, engines.gemm, ConvolutionMap(shape), type, operands, samples, workspace);
}

}  // namespace

Convolution::Convolution(const ConvolutionShape& shape, DType type) : shape_(shape), type_(type) {
  dispatch(type, [](auto) {});
  check(shape);
  output_ = output_grid(shape);
}

std::size_t Convolution::workspace_bytes(const Engines& engines, std::int64_t samples) const {
  const ConvolutionMap map(shape_);
  const auto bytes = [&](ConvolutionPass pass, auto gemms_workspace) {
    const auto by_library = ConvolutionByLibrary::find(engines.libraries, shape_, pass, type_);
    const std::size_t library_bytes = by_library ? by_library->workspace_bytes(samples) : 0;
    if (by_library && !by_library->may_refuse()) return library_bytes;
    return std::max(library_bytes, gemms_workspace(engines.gemm, map, type_, samples));
  };
  return std::max({bytes(ConvolutionPass::apply, convolution_by_gemm::apply_workspace),
                   bytes(ConvolutionPass::adjoint, convolution_by_gemm::adjoint_workspace),
                   bytes(ConvolutionPass::weights, convolution_by_gemm::sum_workspace)});
}

SparedFlops Convolution::spared_flops(const Engines& engines) const {
  const auto spared = [&](ConvolutionPass pass) {
    const auto by_library = ConvolutionByLibrary::find(engines.libraries, shape_, pass, type_);
    return by_library ? std::max(0.0, flops_of(shape_) - by_library->multiplied_flops(flops_of(shape_)))
                      : 0.0;
  };
  const double apply = spared(ConvolutionPass::apply);
  const double adjoint = spared(ConvolutionPass::adjoint);
  return {.forward = shape_.transposed ? adjoint : apply,
          .input_gradient = shape_.transposed ? apply : adjoint,
          .weight_gradient = spared(ConvolutionPass::weights)};
}

std::size_t Convolution::code_bytes(const Engines& engines, std::span<const std::int64_t> samples) const {
  std::vector<LibraryPass> passes;
  for (const auto pass : {ConvolutionPass::apply, ConvolutionPass::adjoint, ConvolutionPass::weights}) {
    const auto by_library = ConvolutionByLibrary::find(engines.libraries, shape_, pass, type_);
    if (!by_library) continue;
    for (const std::int64_t count : samples) by_library->note_passes(count, passes);
  }
  std::size_t bytes = 0;
  for (const LibraryPass& pass : passes) bytes += engines.libraries.convolution->code_bytes(pass);
  return bytes;
}

bool Convolution::sums_by_library(const Engines& engines) const {
  const auto by_library =
      ConvolutionByLibrary::find(engines.libraries, shape_, ConvolutionPass::weights, type_);
  return by_library && !by_library->has_thread_independent_sums();
}

void Convolution::forward(const Execution& exec, const Engines& engines, const ConstTensor& x,
                          const ConstTensor& weights, const ConstTensor& bias, const Tensor& y,
                          void* workspace) const {
  check_matrix("input", x, type_, x.rows(), shape_.input.columns());
  check_matrix("output", y, type_, x.rows(), output_.columns());
  check_weights("weights", shape_, weights, type_);
  check_bias(shape_, bias, type_);
  const GatheredOperands operands{x.data(), weights.data(), bias.data(), y.data()};
  run_map(exec, engines, shape_, type_, shape_.transposed, operands, x.rows(), workspace);
}

void Convolution::input_gradient(const Execution& exec, const Engines& engines, const ConstTensor& dy,
                                 const ConstTensor& weights, const Tensor& dx, void* workspace) const {
  check_matrix("output's gradient", dy, type_, dy.rows(), output_.columns());
  check_matrix("input's gradient", dx, type_, dy.rows(), shape_.input.columns());
  check_weights("weights", shape_, weights, type_);
  const GatheredOperands operands{dy.data(), weights.data(), nullptr, dx.data()};
  run_map(exec, engines, shape_, type_, !shape_.transposed, operands, dy.rows(), workspace);
}

void Convolution::weight_gradient(const Execution& exec, const Engines& engines, const ConstTensor& x,
                                  const Tensor& dy, const Tensor& d_weights, const Tensor& d_bias,
                                  bool accumulate, void* workspace) const {
  check_matrix("input", x, type_, x.rows(), shape_.input.columns());
  check_matrix("output's gradient", dy, type_, x.rows(), output_.columns());
  check_weights("weights' gradient", shape_, d_weights,
                d_weights.type() == DType::fp32 ? DType::fp32 : type_);
  check_bias(shape_, d_bias, d_bias.type());
  const ConstTensor& from = shape_.transposed ? dy : x;
  const ConstTensor& to = shape_.transposed ? x : dy;
  const auto by_library =
      ConvolutionByLibrary::find(engines.libraries, shape_, ConvolutionPass::weights, type_);
  if (!by_library || !by_library->sum_weights(exec, from, to, d_weights, accumulate, workspace)) {
    convolution_by_gemm::sum_weights(exec, engines.gemm, ConvolutionMap(shape_), from, to, d_weights,
                                     accumulate, workspace);
  }
  if (d_bias.empty()) return;
  const Tensor points(dy.data(), type_, dy.rows() * output_.points(), shape_.outputs);
  residual_backward(exec, points, points, d_bias, accumulate, {});
}

}  // namespace mylos
