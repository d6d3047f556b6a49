// Derivatives: of the routine with the name without "_slope", times dx; x and y are its argument and result.
#include "mylos/interchange/source/routines/fortran_routines.hpp"

namespace mylos {
namespace {

const SourceRoutine fortran_slope_table[] = {{"scale_by", {}, R"(
  pure subroutine scale_by(n, scale, dx, dy)
    integer, intent(in) :: n
    real(dk), intent(in) :: scale(n)
    real(rk), intent(in) :: dx(n)
    real(rk), intent(out) :: dy(n)
    dy = real(real(dx, dk) * scale, rk)
  end subroutine scale_by
)"},
                                             {"multiply", {}, R"(
  pure subroutine multiply(n, factor, dx, dy)
    integer, intent(in) :: n
    real(rk), intent(in) :: factor(n), dx(n)
    real(rk), intent(out) :: dy(n)
    dy = factor * dx
  end subroutine multiply
)"},
                                             {"relu_slope", {}, R"(
  pure subroutine relu_slope(n, x, dx, dy)
    integer, intent(in) :: n
    real(rk), intent(in) :: x(n), dx(n)
    real(rk), intent(out) :: dy(n)
    dy = merge(dx, 0.0_rk, x > 0)
  end subroutine relu_slope
)"},
                                             {"gelu_slope", {}, R"(
  pure subroutine gelu_slope(n, x, dx, dy)
    integer, intent(in) :: n
    real(rk), intent(in) :: x(n), dx(n)
    real(rk), intent(out) :: dy(n)
    dy = (0.5_rk * (1 + erf(x * 0.70710678118654752_rk)) &
          + x * (0.39894228040143268_rk * exp(-0.5_rk * x * x))) * dx
  end subroutine gelu_slope
)"},
                                             {"gelu_tanh_slope", {}, R"(
  pure subroutine gelu_tanh_slope(n, x, dx, dy)
    integer, intent(in) :: n
    real(rk), intent(in) :: x(n), dx(n)
    real(rk), intent(out) :: dy(n)
    real(rk) :: square, t, inner_slope
    integer :: i
    do i = 1, n
      square = x(i) * x(i)
      t = tanh(0.79788456080286536_rk * x(i) * (1 + 0.044715_rk * square))
      inner_slope = 0.79788456080286536_rk * (1 + 0.134145_rk * square)
      dy(i) = 0.5_rk * (1 + t + x(i) * (1 - t * t) * inner_slope) * dx(i)
    end do
  end subroutine gelu_tanh_slope
)"},
                                             {"tanh_slope", {}, R"(
  pure subroutine tanh_slope(n, x, dx, dy)
    integer, intent(in) :: n
    real(rk), intent(in) :: x(n), dx(n)
    real(rk), intent(out) :: dy(n)
    dy = (1 - tanh(x)**2) * dx
  end subroutine tanh_slope
)"},
                                             {"silu_slope", {}, R"(
  pure subroutine silu_slope(n, x, dx, dy)
    integer, intent(in) :: n
    real(rk), intent(in) :: x(n), dx(n)
    real(rk), intent(out) :: dy(n)
    real(rk) :: share
    integer :: i
    do i = 1, n
      share = 1 / (1 + exp(-x(i)))
      dy(i) = share * (1 + x(i) * (1 - share)) * dx(i)
    end do
  end subroutine silu_slope
)"},
                                             {"sigmoid_slope", {}, R"(
  pure subroutine sigmoid_slope(n, y, dx, dy)
    integer, intent(in) :: n
    real(rk), intent(in) :: y(n), dx(n)
    real(rk), intent(out) :: dy(n)
    dy = y * (1 - y) * dx
  end subroutine sigmoid_slope
)"},
                                             {"softmax_slope", {"dot"}, R"(
  pure subroutine softmax_slope(n, y, dx, dy)
    integer, intent(in) :: n
    real(rk), intent(in) :: y(n), dx(n)
    real(rk), intent(out) :: dy(n)
    dy = y * (dx - dot(n, y, dx))
  end subroutine softmax_slope
)"},
                                             {"gaussian_slope", {}, R"(
  pure subroutine gaussian_slope(n, scale, y, dx, dy)
    integer, intent(in) :: n
    real(dk), intent(in) :: scale(n)
    real(rk), intent(in) :: y(2 * n), dx(2 * n)
    real(rk), intent(out) :: dy(2 * n)
    dy(:n) = real(real(dx(:n), dk) * scale, rk)
    dy(n + 1:) = 0.5_rk * y(n + 1:) * dx(n + 1:)
  end subroutine gaussian_slope
)"},
                                             {"layernorm_slope", {"total", "dot"}, R"(
  ! Without the weights. dy also holds the normalised x in between.
  pure subroutine layernorm_slope(n, epsilon, x, dx, dy)
    integer, intent(in) :: n
    real(rk), intent(in) :: epsilon, x(n), dx(n)
    real(rk), intent(out) :: dy(n)
    real(rk) :: scale
    dy = x - total(n, x) / n
    scale = 1 / sqrt(dot(n, dy, dy) / n + epsilon)
    dy = dy * scale
    dy = scale * (dx - total(n, dx) / n - dy * (dot(n, dy, dx) / n))
  end subroutine layernorm_slope
)"},
                                             {"rmsnorm_slope", {"dot"}, R"(
  ! Without the weights. dy also holds the normalised x in between.
  pure subroutine rmsnorm_slope(n, epsilon, x, dx, dy)
    integer, intent(in) :: n
    real(rk), intent(in) :: epsilon, x(n), dx(n)
    real(rk), intent(out) :: dy(n)
    real(rk) :: scale
    scale = 1 / sqrt(dot(n, x, x) / n + epsilon)
    dy = x * scale
    dy = scale * (dx - dy * (dot(n, dy, dx) / n))
  end subroutine rmsnorm_slope
)"}};

}  // namespace

std::span<const SourceRoutine> fortran_slope_routines() {
  return fortran_slope_table;
}

}  // namespace mylos
