#include "mylos/kernels/norm/rmsnorm.hpp"

#include "mylos/kernels/norm/norm_rows.hpp"

namespace mylos {
namespace {

struct RmsNorm {
  static constexpr bool has_mean = false;
  static constexpr bool has_bias = false;

  template <class AnyRow, class T>
  KOKKOS_FORCEINLINE_FUNCTION static float mean(const AnyRow&, const T*, std::int64_t, float) {
    return 0.0f;
  }
  KOKKOS_FORCEINLINE_FUNCTION static float output(float x, float, float r, float weight, float bias) {
    return x * r * weight + bias;
  }
  KOKKOS_FORCEINLINE_FUNCTION static float output(float x, float, float r, float weight) {
    return x * r * weight;
  }
  template <class AnyRow, class T, class W>
  KOKKOS_FORCEINLINE_FUNCTION static GradientSums gradient_sums(const AnyRow& row, const T* x, const T* dy,
                                                                const W* weight, float m, float s,
                                                                std::int64_t columns) {
    return {0.0f, sum_of_normalized(row, x, dy, weight, m, s, columns)};
  }
  KOKKOS_FORCEINLINE_FUNCTION static float normalized(float x, float, float s) { return x * s; }
  KOKKOS_FORCEINLINE_FUNCTION static float input_gradient(float s, float dy, float weight, float n, float,
                                                          float mean_gn) {
    return s * (dy * weight - n * mean_gn);
  }
};

}  // namespace

void rmsnorm_forward(const Execution& exec, const ConstTensor& x, const ConstTensor& weight, const Tensor& y,
                     float* rstd, float epsilon) {
  norm_rows::forward<RmsNorm>(exec, "rmsnorm", nullptr, x, weight, {}, y, nullptr, rstd, epsilon);
}

void rmsnorm_forward_of_sum(const Execution& exec, const ResidualSum& sum, const ConstTensor& weight,
                            const Tensor& y, float* rstd, float epsilon) {
  norm_rows::forward<RmsNorm>(exec, "rmsnorm", &sum, sum.x, weight, {}, y, nullptr, rstd, epsilon);
}

std::size_t rmsnorm_backward_workspace(std::int64_t rows, std::int64_t columns) {
  return norm_rows::backward_workspace<RmsNorm>(rows, columns);
}

void rmsnorm_backward(const Execution& exec, const ConstTensor& x, const ConstTensor& dy,
                      const ConstTensor& weight, const float* rstd, const Tensor& dx, const Tensor& dweight,
                      bool accumulate, void* workspace, const ConstTensor& residual) {
  norm_rows::backward<RmsNorm>(exec, "d_rmsnorm", "d_rmsnorm_sum", x, dy, weight, nullptr, rstd, dx, dweight,
                               {}, accumulate, workspace, residual);
}

}  // namespace mylos
