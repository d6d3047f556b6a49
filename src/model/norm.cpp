#include "mylos/model/norm.hpp"

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/layernorm.hpp"
#include "mylos/kernels/rmsnorm.hpp"

namespace mylos {
namespace {

/// Of each row.
struct Statistics {
  Statistics(NormType type, std::int64_t rows, std::byte* place) : pieces(place) {
    if (type == NormType::layernorm) mean = pieces.take<float>(rows);
    rstd = pieces.take<float>(rows);
  }

  Pieces pieces;
  float* mean = nullptr;
  float* rstd;
};

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
  return Statistics(type, rows, nullptr).pieces.bytes();
}

std::size_t Norm::backward_workspace(std::int64_t rows) const {
  return aligned_bytes(type == NormType::layernorm ? layernorm_backward_workspace(rows, width)
                                                   : rmsnorm_backward_workspace(rows, width));
}

void Norm::forward(const Execution& exec, const Tensor& x, std::span<const Tensor> weights, const Tensor& y,
                   std::byte* statistics) const {
  const Statistics of(type, x.rows(), statistics);
  if (type == NormType::rmsnorm) {
    rmsnorm_forward(exec, x, weights[0], y, of.rstd, epsilon);
    return;
  }
  layernorm_forward(exec, x, weights[0], has_bias() ? weights[1] : Tensor(), y, of.mean, of.rstd, epsilon);
}

void Norm::backward(const Execution& exec, const Tensor& x, const Tensor& dy, std::span<const Tensor> weights,
                    std::byte* statistics, const Tensor& dx, std::span<const Tensor> weight_gradients,
                    bool accumulate, std::byte* workspace, const Tensor& residual) const {
  const Statistics of(type, x.rows(), statistics);
  if (type == NormType::rmsnorm) {
    rmsnorm_backward(exec, x, dy, weights[0], of.rstd, dx, weight_gradients[0], accumulate, workspace,
                     residual);
    return;
  }
  layernorm_backward(exec, x, dy, weights[0], of.mean, of.rstd, dx, weight_gradients[0],
                     has_bias() ? weight_gradients[1] : Tensor(), accumulate, workspace, residual);
}

}  // namespace mylos
