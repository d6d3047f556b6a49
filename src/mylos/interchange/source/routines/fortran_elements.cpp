// Scaling, activations, norms, sums. The activations' formulas are those of kernels/pointwise/activation.hpp.
#include "mylos/interchange/source/routines/fortran_routines.hpp"

namespace mylos {
namespace {

const SourceRoutine fortran_element_table[] = {{"total", {}, R"(
  ! Partial sums: shorter chains of additions.
  pure function total(n, x) result(s)
    integer, intent(in) :: n
    real(rk), intent(in) :: x(n)
    real(rk) :: s, part(16)
    integer :: i
    part = 0
    do i = 1, n - 15, 16
      part = part + x(i:i + 15)
    end do
    s = 0
    do i = n - mod(n, 16) + 1, n
      s = s + x(i)
    end do
    do i = 1, 16
      s = s + part(i)
    end do
  end function total
)"},
                                               {"dot", {}, R"(
  pure function dot(n, x, y) result(s)
    integer, intent(in) :: n
    real(rk), intent(in) :: x(n), y(n)
    real(rk) :: s, part(16)
    integer :: i
    part = 0
    do i = 1, n - 15, 16
      part = part + x(i:i + 15) * y(i:i + 15)
    end do
    s = 0
    do i = n - mod(n, 16) + 1, n
      s = s + x(i) * y(i)
    end do
    do i = 1, 16
      s = s + part(i)
    end do
  end function dot
)"},
                                               {"copy", {}, R"(
  pure subroutine copy(n, x, y)
    integer, intent(in) :: n
    real(rk), intent(in) :: x(n)
    real(rk), intent(out) :: y(n)
    y = x
  end subroutine copy
)"},
                                               {"scale_inputs", {}, R"(
  ! In double, as in training: a small spread around a large mean loses nothing.
  pure subroutine scale_inputs(n, shift, scale, x, y)
    integer, intent(in) :: n
    real(dk), intent(in) :: shift(n), scale(n)
    real(rk), intent(in) :: x(n)
    real(rk), intent(out) :: y(n)
    y = real((real(x, dk) - shift) * scale, rk)
  end subroutine scale_inputs
)"},
                                               {"scale_outputs", {}, R"(
  pure subroutine scale_outputs(n, shift, scale, x, y)
    integer, intent(in) :: n
    real(dk), intent(in) :: shift(n), scale(n)
    real(rk), intent(in) :: x(n)
    real(rk), intent(out) :: y(n)
    y = real(real(x, dk) * scale + shift, rk)
  end subroutine scale_outputs
)"},
                                               {"gaussian", {}, R"(
  ! n means and n log variances in; means and standard deviations out.
  pure subroutine gaussian(n, shift, scale, x, y)
    integer, intent(in) :: n
    real(dk), intent(in) :: shift(n), scale(n)
    real(rk), intent(in) :: x(2 * n)
    real(rk), intent(out) :: y(2 * n)
    y(:n) = real(real(x(:n), dk) * scale + shift, rk)
    y(n + 1:) = real(real(exp(0.5_rk * x(n + 1:)), dk) * scale, rk)
  end subroutine gaussian
)"},
                                               {"apply_relu", {}, R"(
  pure subroutine apply_relu(n, x)
    integer, intent(in) :: n
    real(rk), intent(inout) :: x(n)
    x = merge(0.0_rk, x, x < 0)
  end subroutine apply_relu
)"},
                                               {"apply_gelu", {}, R"(
  ! x (1 + erf(x / sqrt(2))) / 2
  pure subroutine apply_gelu(n, x)
    integer, intent(in) :: n
    real(rk), intent(inout) :: x(n)
    x = x * (0.5_rk * (1 + erf(x * 0.70710678118654752_rk)))
  end subroutine apply_gelu
)"},
                                               {"apply_gelu_tanh", {}, R"(
  ! x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
  pure subroutine apply_gelu_tanh(n, x)
    integer, intent(in) :: n
    real(rk), intent(inout) :: x(n)
    x = x * (0.5_rk * (1 + tanh(0.79788456080286536_rk * x * (1 + 0.044715_rk * x * x))))
  end subroutine apply_gelu_tanh
)"},
                                               {"apply_tanh", {}, R"(
  pure subroutine apply_tanh(n, x)
    integer, intent(in) :: n
    real(rk), intent(inout) :: x(n)
    x = tanh(x)
  end subroutine apply_tanh
)"},
                                               {"apply_silu", {}, R"(
  ! x / (1 + exp(-x))
  pure subroutine apply_silu(n, x)
    integer, intent(in) :: n
    real(rk), intent(inout) :: x(n)
    x = x / (1 + exp(-x))
  end subroutine apply_silu
)"},
                                               {"sigmoid", {}, R"(
  pure subroutine sigmoid(n, x)
    integer, intent(in) :: n
    real(rk), intent(inout) :: x(n)
    x = 1 / (1 + exp(-x))
  end subroutine sigmoid
)"},
                                               {"softmax", {}, R"(
  pure subroutine softmax(n, x)
    integer, intent(in) :: n
    real(rk), intent(inout) :: x(n)
    real(rk) :: largest
    integer :: i
    largest = x(1)
    do i = 2, n
      largest = max(largest, x(i))
    end do
    x = exp(x - largest)
    x = x / sum(x)
  end subroutine softmax
)"},
                                               {"layernorm", {"total", "dot"}, R"(
  pure subroutine layernorm(n, epsilon, w, b, x)
    integer, intent(in) :: n
    real(rk), intent(in) :: epsilon, w(n), b(n)
    real(rk), intent(inout) :: x(n)
    real(rk) :: scale
    x = x - total(n, x) / n
    scale = 1 / sqrt(dot(n, x, x) / n + epsilon)
    x = x * scale * w + b
  end subroutine layernorm
)"},
                                               {"rmsnorm", {"dot"}, R"(
  pure subroutine rmsnorm(n, epsilon, w, x)
    integer, intent(in) :: n
    real(rk), intent(in) :: epsilon, w(n)
    real(rk), intent(inout) :: x(n)
    real(rk) :: scale
    scale = 1 / sqrt(dot(n, x, x) / n + epsilon)
    x = x * (scale * w)
  end subroutine rmsnorm
)"},
                                               {"batchnorm", {}, R"(
  ! By the statistics of the training; scale = weight / sqrt(variance + epsilon).
  pure subroutine batchnorm(n, mean, scale, b, x)
    integer, intent(in) :: n
    real(rk), intent(in) :: mean(n), scale(n), b(n)
    real(rk), intent(inout) :: x(n)
    x = (x - mean) * scale + b
  end subroutine batchnorm
)"},
                                               {"add", {}, R"(
  pure subroutine add(n, x, y)
    integer, intent(in) :: n
    real(rk), intent(in) :: x(n)
    real(rk), intent(inout) :: y(n)
    y = y + x
  end subroutine add
)"},
                                               {"add_scaled", {}, R"(
  pure subroutine add_scaled(n, factor, x, y)
    integer, intent(in) :: n
    real(rk), intent(in) :: factor(n), x(n)
    real(rk), intent(inout) :: y(n)
    y = y + factor * x
  end subroutine add_scaled
)"}};

}  // namespace

std::span<const SourceRoutine> fortran_element_routines() {
  return fortran_element_table;
}

}  // namespace mylos
