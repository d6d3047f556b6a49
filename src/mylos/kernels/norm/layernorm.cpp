#include "mylos/kernels/norm/layernorm.hpp"

#include "mylos/kernels/norm/norm_rows.hpp"

namespace mylos {
namespace {

struct LayerNorm {
  static constexpr bool has_mean = true;
  static constexpr bool has_bias = true;

  template <class AnyRow, class T>
  KOKKOS_FORCEINLINE_FUNCTION static float mean(const AnyRow& row, const T* x, std::int64_t columns,
                                                float inverse_columns) {
    return inverse_columns * sum(row, x, columns);
  }
  KOKKOS_FORCEINLINE_FUNCTION static float output(float x, float m, float r, float weight, float bias) {
    return (x - m) * r * weight + bias;
  }
  KOKKOS_FORCEINLINE_FUNCTION static float output(float x, float m, float r, float weight) {
    return (x - m) * r * weight;
  }
  template <class AnyRow, class T, class W>
  KOKKOS_FORCEINLINE_FUNCTION static GradientSums gradient_sums(const AnyRow& row, const T* x, const T* dy,
                                                                const W* weight, float m, float s,
                                                                std::int64_t columns) {
    return mylos::gradient_sums(row, x, dy, weight, m, s, columns);
  }
  KOKKOS_FORCEINLINE_FUNCTION static float normalized(float x, float m, float s) { return (x - m) * s; }
  KOKKOS_FORCEINLINE_FUNCTION static float input_gradient(float s, float dy, float weight, float n,
                                                          float mean_g, float mean_gn) {
    return s * (dy * weight - mean_g - n * mean_gn);
  }
};

}  // namespace

void layernorm_forward(const Execution& exec, const ConstTensor& x, const ConstTensor& gamma,
                       const ConstTensor& beta, const Tensor& y, float* mean, float* rstd, float epsilon) {
  norm_rows::forward<LayerNorm>(exec, "layernorm", nullptr, x, gamma, beta, y, mean, rstd, epsilon);
}

void layernorm_forward_of_sum(const Execution& exec, const ResidualSum& sum, const ConstTensor& gamma,
                              const ConstTensor& beta, const Tensor& y, float* mean, float* rstd,
                              float epsilon) {
  norm_rows::forward<LayerNorm>(exec, "layernorm", &sum, sum.x, gamma, beta, y, mean, rstd, epsilon);
}

std::size_t layernorm_backward_workspace(std::int64_t rows, std::int64_t columns) {
  return norm_rows::backward_workspace<LayerNorm>(rows, columns);
}

void layernorm_backward(const Execution& exec, const ConstTensor& x, const ConstTensor& dy,
                        const ConstTensor& gamma, const float* mean, const float* rstd, const Tensor& dx,
                        const Tensor& dgamma, const Tensor& dbeta, bool accumulate, void* workspace,
                        const ConstTensor& residual) {
  norm_rows::backward<LayerNorm>(exec, "d_layernorm", "d_layernorm_sum", x, dy, gamma, mean, rstd, dx, dgamma,
                                 dbeta, accumulate, workspace, residual);
}

}  // namespace mylos
