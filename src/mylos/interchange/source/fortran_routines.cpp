#include "mylos/interchange/source/fortran_routines.hpp"

namespace mylos {
namespace {

const SourceRoutine of_fortran[] = {
    {"total", {}, R"(
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
    {"tile_8", {}, R"(
  pure subroutine tile_8(o, inputs, outputs, w, b, x, y)
    integer, intent(in) :: o, inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs)
    real(rk), intent(inout) :: y(outputs)
    real(rk) :: s(8)
    integer :: i, k
    s = b(o:o + 7)
    do i = 1, inputs
      do k = 1, 8
        s(k) = s(k) + x(i) * w(o + k - 1, i)
      end do
    end do
    y(o:o + 7) = s
  end subroutine tile_8
)"},
    {"tile_32", {}, R"(
  pure subroutine tile_32(o, inputs, outputs, w, b, x, y)
    integer, intent(in) :: o, inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs)
    real(rk), intent(inout) :: y(outputs)
    real(rk) :: s(32)
    integer :: i, k
    s = b(o:o + 31)
    do i = 1, inputs
      do k = 1, 32
        s(k) = s(k) + x(i) * w(o + k - 1, i)
      end do
    end do
    y(o:o + 31) = s
  end subroutine tile_32
)"},
    {"tile_64", {}, R"(
  ! 64 outputs, from o on. Their sums are held in registers.
  pure subroutine tile_64(o, inputs, outputs, w, b, x, y)
    integer, intent(in) :: o, inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs)
    real(rk), intent(inout) :: y(outputs)
    real(rk) :: s(64)
    integer :: i, k
    s = b(o:o + 63)
    do i = 1, inputs
      do k = 1, 64
        s(k) = s(k) + x(i) * w(o + k - 1, i)
      end do
    end do
    y(o:o + 63) = s
  end subroutine tile_64
)"},
    {"tile_32x4", {}, R"(
  pure subroutine tile_32x4(o, inputs, outputs, w, b, x, y)
    integer, intent(in) :: o, inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs, 4)
    real(rk), intent(inout) :: y(outputs, 4)
    real(rk) :: s1(32), s2(32), s3(32), s4(32)
    integer :: i, k
    s1 = b(o:o + 31)
    s2 = s1
    s3 = s1
    s4 = s1
    do i = 1, inputs
      do k = 1, 32
        s1(k) = s1(k) + x(i, 1) * w(o + k - 1, i)
        s2(k) = s2(k) + x(i, 2) * w(o + k - 1, i)
        s3(k) = s3(k) + x(i, 3) * w(o + k - 1, i)
        s4(k) = s4(k) + x(i, 4) * w(o + k - 1, i)
      end do
    end do
    y(o:o + 31, 1) = s1
    y(o:o + 31, 2) = s2
    y(o:o + 31, 3) = s3
    y(o:o + 31, 4) = s4
  end subroutine tile_32x4
)"},
    {"tile_64x4", {}, R"(
  ! 64 outputs of 4 columns.
  pure subroutine tile_64x4(o, inputs, outputs, w, b, x, y)
    integer, intent(in) :: o, inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs, 4)
    real(rk), intent(inout) :: y(outputs, 4)
    real(rk) :: s1(64), s2(64), s3(64), s4(64)
    integer :: i, k
    s1 = b(o:o + 63)
    s2 = s1
    s3 = s1
    s4 = s1
    do i = 1, inputs
      do k = 1, 64
        s1(k) = s1(k) + x(i, 1) * w(o + k - 1, i)
        s2(k) = s2(k) + x(i, 2) * w(o + k - 1, i)
        s3(k) = s3(k) + x(i, 3) * w(o + k - 1, i)
        s4(k) = s4(k) + x(i, 4) * w(o + k - 1, i)
      end do
    end do
    y(o:o + 63, 1) = s1
    y(o:o + 63, 2) = s2
    y(o:o + 63, 3) = s3
    y(o:o + 63, 4) = s4
  end subroutine tile_64x4
)"},
    {"one_output", {}, R"(
  pure function one_output(o, inputs, outputs, w, b, x) result(s)
    integer, intent(in) :: o, inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs)
    real(rk) :: s, s1, s2, s3, s4
    integer :: i
    s1 = b(o)
    s2 = 0
    s3 = 0
    s4 = 0
    do i = 1, inputs - 3, 4
      s1 = s1 + x(i) * w(o, i)
      s2 = s2 + x(i + 1) * w(o, i + 1)
      s3 = s3 + x(i + 2) * w(o, i + 2)
      s4 = s4 + x(i + 3) * w(o, i + 3)
    end do
    do i = inputs - mod(inputs, 4) + 1, inputs
      s1 = s1 + x(i) * w(o, i)
    end do
    s = (s1 + s2) + (s3 + s4)
  end function one_output
)"},
    {"last_outputs", {"tile_8", "one_output"}, R"(
  ! The outputs after the last tile of 32.
  pure subroutine last_outputs(inputs, outputs, w, b, x, y)
    integer, intent(in) :: inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs)
    real(rk), intent(inout) :: y(outputs)
    integer :: o
    do o = outputs - mod(outputs, 32) + 1, outputs - 7, 8
      call tile_8(o, inputs, outputs, w, b, x, y)
    end do
    do o = outputs - mod(outputs, 8) + 1, outputs
      y(o) = one_output(o, inputs, outputs, w, b, x)
    end do
  end subroutine last_outputs
)"},
    {"linear", {"tile_32", "tile_64", "last_outputs"}, R"(
  ! y = W x + b.
  pure subroutine linear(inputs, outputs, w, b, x, y)
    integer, intent(in) :: inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs)
    real(rk), intent(inout) :: y(outputs)
    integer :: o
    do o = 1, outputs - 63, 64
      call tile_64(o, inputs, outputs, w, b, x, y)
    end do
    if (mod(outputs, 64) >= 32) call tile_32(outputs - mod(outputs, 64) + 1, inputs, outputs, w, b, x, y)
    call last_outputs(inputs, outputs, w, b, x, y)
  end subroutine linear
)"},
    {"linear_block", {"tile_32", "tile_64", "tile_32x4", "tile_64x4", "last_outputs"}, R"(
  ! The same for columns.
  pure subroutine linear_block(columns, inputs, outputs, w, b, x, y)
    integer, intent(in) :: columns, inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs, columns)
    real(rk), intent(inout) :: y(outputs, columns)
    integer :: o, c
    do o = 1, outputs - 63, 64
      do c = 1, columns - 3, 4
        call tile_64x4(o, inputs, outputs, w, b, x(:, c:c + 3), y(:, c:c + 3))
      end do
      do c = columns - mod(columns, 4) + 1, columns
        call tile_64(o, inputs, outputs, w, b, x(:, c), y(:, c))
      end do
    end do
    if (mod(outputs, 64) >= 32) then
      o = outputs - mod(outputs, 64) + 1
      do c = 1, columns - 3, 4
        call tile_32x4(o, inputs, outputs, w, b, x(:, c:c + 3), y(:, c:c + 3))
      end do
      do c = columns - mod(columns, 4) + 1, columns
        call tile_32(o, inputs, outputs, w, b, x(:, c), y(:, c))
      end do
    end if
    do c = 1, columns
      call last_outputs(inputs, outputs, w, b, x(:, c), y(:, c))
    end do
  end subroutine linear_block
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
)"},
    {"scale_by", {}, R"(
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
    {"linear_tangent", {}, R"(
  pure subroutine linear_tangent(inputs, outputs, w, dx, dy)
    integer, intent(in) :: inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), dx(inputs)
    real(rk), intent(out) :: dy(outputs)
    integer :: i
    dy = 0
    do i = 1, inputs
      dy = dy + dx(i) * w(:, i)
    end do
  end subroutine linear_tangent
)"},
    {"linear_pullback", {"dot"}, R"(
  pure subroutine linear_pullback(inputs, outputs, w, gy, gx)
    integer, intent(in) :: inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), gy(outputs)
    real(rk), intent(out) :: gx(inputs)
    integer :: i
    do i = 1, inputs
      gx(i) = dot(outputs, w(:, i), gy)
    end do
  end subroutine linear_pullback
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

std::span<const SourceRoutine> fortran_routines() {
  return of_fortran;
}

}  // namespace mylos
