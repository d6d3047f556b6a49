#include "mylos/model/norm.hpp"

#include "mylos/base/arena.hpp"
#include "mylos/kernels/layernorm.hpp"
#include "mylos/kernels/rmsnorm.hpp"

namespace mylos {
namespace {

std::size_t row_vector_bytes(std::int64_t rows) {
  return aligned_bytes(static_cast<std::size_t>(rows) * sizeof(float));
}

}  // namespace

std::string_view kind_of(NormType type) {
  return type == NormType::rmsnorm ? "rmsnorm" : "layernorm";
}

std::vector<ParameterSpec> Norm::parameters(const std::string& prefix) const {
  std::vector<ParameterSpec> specs{
      {.name = prefix + "weight", .rows = 1, .columns = width, .initial_value = 1}};
  if (has_bias()) specs.push_back({.name = prefix + "bias", .rows = 1, .columns = width});
  return specs;
}

std::size_t Norm::statistics_bytes(std::int64_t rows) const {
  return (type == NormType::layernorm ? 2 : 1) * row_vector_bytes(rows);
}

std::size_t Norm::backward_workspace(std::int64_t rows) const {
  return aligned_bytes(type == NormType::layernorm ? layernorm_backward_workspace(rows, width)
                                                   : rmsnorm_backward_workspace(rows, width));
}

void Norm::forward(const Execution& exec, const Tensor& x, std::span<const Tensor> weights, const Tensor& y,
                   std::byte* statistics) const {
  auto* first = reinterpret_cast<float*>(statistics);
  if (type == NormType::rmsnorm) {
    rmsnorm_forward(exec, x, weights[0], y, first, epsilon);
    return;
  }
  auto* second = reinterpret_cast<float*>(statistics + row_vector_bytes(x.rows()));
  layernorm_forward(exec, x, weights[0], has_bias() ? weights[1] : Tensor(), y, first, second, epsilon);
}

void Norm::backward(const Execution& exec, const Tensor& x, const Tensor& dy, std::span<const Tensor> weights,
                    const std::byte* statistics, const Tensor& dx, std::span<const Tensor> weight_gradients,
                    bool accumulate, std::byte* workspace, const Tensor& residual) const {
  const auto* first = reinterpret_cast<const float*>(statistics);
  if (type == NormType::rmsnorm) {
    rmsnorm_backward(exec, x, dy, weights[0], first, dx, weight_gradients[0], accumulate, workspace,
                     residual);
    return;
  }
  const auto* second = reinterpret_cast<const float*>(statistics + row_vector_bytes(x.rows()));
  layernorm_backward(exec, x, dy, weights[0], first, second, dx, weight_gradients[0],
                     has_bias() ? weight_gradients[1] : Tensor(), accumulate, workspace, residual);
}

}  // namespace mylos
