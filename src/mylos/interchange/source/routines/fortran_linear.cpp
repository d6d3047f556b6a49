// Dense layers.
#include "mylos/interchange/source/routines/fortran_routines.hpp"

namespace mylos {
namespace {

constexpr const char* f_tile = R"(
  ! $width outputs, from o on. Their sums are held in registers.
  pure subroutine tile_$width(o, inputs, outputs, w, b, x, y)
    integer, intent(in) :: o, inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs)
    real(rk), intent(inout) :: y(outputs)
    real(rk) :: s($width)
    integer :: i, k
    s = b(o:o + $last)
    do i = 1, inputs
      do k = 1, $width
        s(k) = s(k) + x(i) * w(o + k - 1, i)
      end do
    end do
    y(o:o + $last) = s
  end subroutine tile_$width
)";

constexpr const char* f_tile_of_columns = R"(
  ! $width outputs of 4 columns.
  pure subroutine tile_$widthx4(o, inputs, outputs, w, b, x, y)
    integer, intent(in) :: o, inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs, 4)
    real(rk), intent(inout) :: y(outputs, 4)
    real(rk) :: s1($width), s2($width), s3($width), s4($width)
    integer :: i, k
    s1 = b(o:o + $last)
    s2 = s1
    s3 = s1
    s4 = s1
    do i = 1, inputs
      do k = 1, $width
        s1(k) = s1(k) + x(i, 1) * w(o + k - 1, i)
        s2(k) = s2(k) + x(i, 2) * w(o + k - 1, i)
        s3(k) = s3(k) + x(i, 3) * w(o + k - 1, i)
        s4(k) = s4(k) + x(i, 4) * w(o + k - 1, i)
      end do
    end do
    y(o:o + $last, 1) = s1
    y(o:o + $last, 2) = s2
    y(o:o + $last, 3) = s3
    y(o:o + $last, 4) = s4
  end subroutine tile_$widthx4
)";

const SourceRoutine fortran_linear_table[] = {
    {"tile_8", {}, of_width(f_tile, 8)},
    {"tile_32", {}, of_width(f_tile, 32)},
    {"tile_64", {}, of_width(f_tile, 64)},
    {"tile_32x4", {}, of_width(f_tile_of_columns, 32)},
    {"tile_64x4", {}, of_width(f_tile_of_columns, 64)},
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
)"}};

}  // namespace

std::span<const SourceRoutine> fortran_linear_routines() {
  return fortran_linear_table;
}

}  // namespace mylos
