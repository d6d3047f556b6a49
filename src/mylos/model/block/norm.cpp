#include "mylos/model/block/norm.hpp"

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/norm/layernorm.hpp"
#include "mylos/kernels/norm/rmsnorm.hpp"

namespace mylos {
namespace {

/// The statistics of each row.
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

std::vector<ParameterSpec> Norm::parameters(const std::string& group, DType weights, DType gradients) const {
  const auto spec = [&](const char* name, float initial_value) -> ParameterSpec {
    return {.name = parameter_name(group, name),
            .columns = width,
            .type = weights,
            .gradient_type = gradients,
            .initial_value = initial_value};
  };
  if (!has_bias()) return {spec("weight", 1)};
  return {spec("weight", 1), spec("bias", 0)};
}

std::size_t Norm::statistics_bytes(std::int64_t rows) const {
  return Statistics(type, rows, nullptr).pieces.bytes();
}

std::size_t Norm::backward_workspace(std::int64_t rows) const {
  return aligned_bytes(type == NormType::layernorm ? layernorm_backward_workspace(rows, width)
                                                   : rmsnorm_backward_workspace(rows, width));
}

void Norm::forward(const Execution& exec, const ConstTensor& x, const ParameterTensors& weights,
                   const Tensor& y, std::byte* statistics) const {
  const Statistics of(type, x.rows(), statistics);
  if (type == NormType::rmsnorm) {
    rmsnorm_forward(exec, x, weights["weight"], y, of.rstd, epsilon);
    return;
  }
  layernorm_forward(exec, x, weights["weight"], has_bias() ? weights["bias"] : Tensor(), y, of.mean, of.rstd,
                    epsilon);
}

void Norm::forward_of_sum(const Execution& exec, const ResidualSum& sum, const ParameterTensors& weights,
                          const Tensor& y, std::byte* statistics) const {
  const Statistics of(type, sum.x.rows(), statistics);
  if (type == NormType::rmsnorm) {
    rmsnorm_forward_of_sum(exec, sum, weights["weight"], y, of.rstd, epsilon);
    return;
  }
  layernorm_forward_of_sum(exec, sum, weights["weight"], has_bias() ? weights["bias"] : Tensor(), y, of.mean,
                           of.rstd, epsilon);
}

void Norm::backward(const Execution& exec, const ConstTensor& x, const Tensor& dy,
                    const ParameterTensors& weights, std::byte* statistics, const Tensor& dx,
                    const ParameterTensors& weight_gradients, bool accumulate, std::byte* workspace,
                    const Tensor& residual) const {
  const Statistics of(type, x.rows(), statistics);
  if (type == NormType::rmsnorm) {
    rmsnorm_backward(exec, x, dy, weights["weight"], of.rstd, dx, weight_gradients["weight"], accumulate,
                     workspace, residual);
    return;
  }
  layernorm_backward(exec, x, dy, weights["weight"], of.mean, of.rstd, dx, weight_gradients["weight"],
                     has_bias() ? weight_gradients["bias"] : Tensor(), accumulate, workspace, residual);
}

}  // namespace mylos
