// Dense layers, and sums and products of rows for their derivatives. For blocks of columns the loop over
// outputs is the outer one, which gfortran vectorises with all sums in registers: six columns and two vectors
// of outputs take 12 of the 16 registers of AVX2.
#include "mylos/interchange/source/routines/fortran_routines.hpp"
#include "mylos/interchange/source/source_text.hpp"

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
  ! 16 outputs of $columns columns.
  pure subroutine tile_16x$columns(o, inputs, outputs, w, b, x, y)
    integer, intent(in) :: o, inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs, $columns)
    real(rk), intent(inout) :: y(outputs, $columns)
    real(rk) :: u, v
$[    real(rk) :: s$c, t$c
$|$]    integer :: i, k
    do k = o, o + 7
$[      s$c = b(k)
      t$c = b(k + 8)
$|$]      do i = 1, inputs
        u = w(k, i)
        v = w(k + 8, i)
$[        s$c = s$c + x(i, $c) * u
        t$c = t$c + x(i, $c) * v
$|$]      end do
$[      y(k, $c) = s$c
      y(k + 8, $c) = t$c
$|$]    end do
  end subroutine tile_16x$columns
)";

std::string with_columns_of_fortran(int columns) {
  std::string text = of_columns(f_tile_of_columns, columns, 1);
  replace_all(text, "$columns", std::to_string(columns));
  return text;
}

const SourceRoutine fortran_linear_table[] = {{"tile_16", {}, of_width(f_tile, 16)},
                                              {"tile_32", {}, of_width(f_tile, 32)},
                                              {"tile_64", {}, of_width(f_tile, 64)},
                                              {"tile_16x5", {}, with_columns_of_fortran(5)},
                                              {"tile_16x6", {}, with_columns_of_fortran(6)},
                                              {"few_outputs", {"dot"}, R"(
  ! y = W x + b, with the weights of an output adjacent.
  pure subroutine few_outputs(inputs, outputs, w, b, x, y)
    integer, intent(in) :: inputs, outputs
    real(rk), intent(in) :: w(inputs, outputs), b(outputs), x(inputs)
    real(rk), intent(out) :: y(outputs)
    integer :: o
    do o = 1, outputs
      y(o) = b(o) + dot(inputs, w(:, o), x)
    end do
  end subroutine few_outputs
)"},
                                              {"linear", {"tile_16", "tile_32", "tile_64"}, R"(
  ! y = W x + b, for 16 or more outputs. The last tiles may overlap.
  pure subroutine linear(inputs, outputs, w, b, x, y)
    integer, intent(in) :: inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs)
    real(rk), intent(inout) :: y(outputs)
    integer :: o
    do o = 1, outputs - 63, 64
      call tile_64(o, inputs, outputs, w, b, x, y)
    end do
    if (mod(outputs, 64) >= 32) call tile_32(outputs - mod(outputs, 64) + 1, inputs, outputs, w, b, x, y)
    do o = outputs - mod(outputs, 32) + 1, outputs, 16
      call tile_16(min(o, outputs - 15), inputs, outputs, w, b, x, y)
    end do
  end subroutine linear
)"},
                                              {"linear_block", {"tile_16", "tile_16x5", "tile_16x6"}, R"(
  ! The same for columns.
  pure subroutine linear_block(columns, inputs, outputs, w, b, x, y)
    integer, intent(in) :: columns, inputs, outputs
    real(rk), intent(in) :: w(outputs, inputs), b(outputs), x(inputs, columns)
    real(rk), intent(inout) :: y(outputs, columns)
    integer :: tile, o, c
    do tile = 1, outputs, 16
      o = min(tile, outputs - 15)
      c = 1
      do while (c + 4 <= columns)
        if (mod(columns - c + 1, 5) == 0) then
          call tile_16x5(o, inputs, outputs, w, b, x(:, c:c + 4), y(:, c:c + 4))
          c = c + 5
        else
          call tile_16x6(o, inputs, outputs, w, b, x(:, c:c + 5), y(:, c:c + 5))
          c = c + 6
        end if
      end do
      do c = c, columns
        call tile_16(o, inputs, outputs, w, b, x(:, c), y(:, c))
      end do
    end do
  end subroutine linear_block
)"},
                                              {"sum_of_rows", {}, R"(
  ! y = the sum of the rows of w, each times its factor.
  pure subroutine sum_of_rows(rows, n, w, factor, y)
    integer, intent(in) :: rows, n
    real(rk), intent(in) :: w(n, rows), factor(rows)
    real(rk), intent(out) :: y(n)
    integer :: r
    y = 0
    do r = 1, rows
      y = y + factor(r) * w(:, r)
    end do
  end subroutine sum_of_rows
)"},
                                              {"row_products", {"dot"}, R"(
  ! y = the scalar product of each row of w with x.
  pure subroutine row_products(rows, n, w, x, y)
    integer, intent(in) :: rows, n
    real(rk), intent(in) :: w(n, rows), x(n)
    real(rk), intent(out) :: y(rows)
    integer :: r
    do r = 1, rows
      y(r) = dot(n, w(:, r), x)
    end do
  end subroutine row_products
)"}};

}  // namespace

std::span<const SourceRoutine> fortran_linear_routines() {
  return fortran_linear_table;
}

}  // namespace mylos
