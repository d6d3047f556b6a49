// Windows of columns: what convolutions see, and pools. All have the arguments of SourceWindows first.
#include "mylos/interchange/source/routines/fortran_routines.hpp"

namespace mylos {
namespace {

const SourceRoutine fortran_column_table[] = {{"point_at", {}, R"(
  ! The point of a column at p, counted from 0, which may lie beyond its ends. edges: 0 none there (0), 1 the
  ! column repeats, 2 it is mirrored at its last points. The result is counted from 1.
  pure function point_at(p, points, edges) result(q)
    integer, intent(in) :: p, points, edges
    integer :: q
    q = p + 1
    if (p >= 0 .and. p < points) return
    select case (edges)
    case (1)
      q = merge(p + points, p - points, p < 0) + 1
    case (2)
      q = merge(-p, 2 * (points - 1) - p, p < 0) + 1
    case default
      q = 0
    end select
  end function point_at
)"},
                                              {"gather", {"point_at"}, R"(
  ! What each window sees.
  pure subroutine gather( &
      points, channels, count, taps, stride, dilation, padding, edges, x, y)
    integer, intent(in) :: points, channels, count, taps, stride, dilation, padding, edges
    real(rk), intent(in) :: x(channels, points)
    real(rk), intent(out) :: y(channels, taps, count)
    integer :: p, q, t
    do q = 1, count
      do t = 1, taps
        p = point_at((q - 1) * stride + (t - 1) * dilation - padding, points, edges)
        if (p > 0) then
          y(:, t, q) = x(:, p)
        else
          y(:, t, q) = 0
        end if
      end do
    end do
  end subroutine gather
)"},
                                              {"gather_pullback", {"point_at"}, R"(
  pure subroutine gather_pullback( &
      points, channels, count, taps, stride, dilation, padding, edges, gy, gx)
    integer, intent(in) :: points, channels, count, taps, stride, dilation, padding, edges
    real(rk), intent(in) :: gy(channels, taps, count)
    real(rk), intent(out) :: gx(channels, points)
    integer :: p, q, t
    gx = 0
    do q = 1, count
      do t = 1, taps
        p = point_at((q - 1) * stride + (t - 1) * dilation - padding, points, edges)
        if (p > 0) gx(:, p) = gx(:, p) + gy(:, t, q)
      end do
    end do
  end subroutine gather_pullback
)"},
                                              {"maximum_in", {"point_at"}, R"(
  ! The first point with the maximum of window q, or the first with NaN; x: of one channel.
  pure function maximum_in(q, points, taps, stride, dilation, padding, edges, x) result(first)
    integer, intent(in) :: q, points, taps, stride, dilation, padding, edges
    real(rk), intent(in) :: x(:)
    integer :: first, p, t
    first = 0
    do t = 1, taps
      p = point_at((q - 1) * stride + (t - 1) * dilation - padding, points, edges)
      if (p == 0) cycle
      if (first == 0) then
        first = p
      else if (.not. (x(p) <= x(first)) .and. x(first) <= x(first)) then
        first = p
      end if
    end do
  end function maximum_in
)"},
                                              {"max_pool", {"maximum_in"}, R"(
  pure subroutine max_pool( &
      points, channels, count, taps, stride, dilation, padding, edges, x, y)
    integer, intent(in) :: points, channels, count, taps, stride, dilation, padding, edges
    real(rk), intent(in) :: x(channels, points)
    real(rk), intent(out) :: y(channels, count)
    integer :: k, p, q
    do q = 1, count
      do k = 1, channels
        p = maximum_in(q, points, taps, stride, dilation, padding, edges, x(k, :))
        y(k, q) = x(k, p)
      end do
    end do
  end subroutine max_pool
)"},
                                              {"max_pool_tangent", {"maximum_in"}, R"(
  pure subroutine max_pool_tangent( &
      points, channels, count, taps, stride, dilation, padding, edges, x, dx, dy)
    integer, intent(in) :: points, channels, count, taps, stride, dilation, padding, edges
    real(rk), intent(in) :: x(channels, points)
    real(rk), intent(in) :: dx(channels, points)
    real(rk), intent(out) :: dy(channels, count)
    integer :: k, p, q
    do q = 1, count
      do k = 1, channels
        p = maximum_in(q, points, taps, stride, dilation, padding, edges, x(k, :))
        dy(k, q) = dx(k, p)
      end do
    end do
  end subroutine max_pool_tangent
)"},
                                              {"max_pool_pullback", {"maximum_in"}, R"(
  pure subroutine max_pool_pullback( &
      points, channels, count, taps, stride, dilation, padding, edges, x, gy, gx)
    integer, intent(in) :: points, channels, count, taps, stride, dilation, padding, edges
    real(rk), intent(in) :: x(channels, points)
    real(rk), intent(in) :: gy(channels, count)
    real(rk), intent(out) :: gx(channels, points)
    integer :: k, p, q
    gx = 0
    do q = 1, count
      do k = 1, channels
        p = maximum_in(q, points, taps, stride, dilation, padding, edges, x(k, :))
        gx(k, p) = gx(k, p) + gy(k, q)
      end do
    end do
  end subroutine max_pool_pullback
)"},
                                              {"points_in", {"point_at"}, R"(
  ! How many points of the column window q sees.
  pure function points_in(q, points, taps, stride, dilation, padding, edges) result(seen)
    integer, intent(in) :: q, points, taps, stride, dilation, padding, edges
    integer :: seen, t
    seen = 0
    do t = 1, taps
      if (point_at((q - 1) * stride + (t - 1) * dilation - padding, points, edges) > 0) seen = seen + 1
    end do
  end function points_in
)"},
                                              {"average_pool", {"points_in"}, R"(
  pure subroutine average_pool( &
      points, channels, count, taps, stride, dilation, padding, edges, x, y)
    integer, intent(in) :: points, channels, count, taps, stride, dilation, padding, edges
    real(rk), intent(in) :: x(channels, points)
    real(rk), intent(out) :: y(channels, count)
    integer :: p, q, t
    do q = 1, count
      y(:, q) = 0
      do t = 1, taps
        p = point_at((q - 1) * stride + (t - 1) * dilation - padding, points, edges)
        if (p > 0) y(:, q) = y(:, q) + x(:, p)
      end do
      y(:, q) = y(:, q) / points_in(q, points, taps, stride, dilation, padding, edges)
    end do
  end subroutine average_pool
)"},
                                              {"average_pool_pullback", {"points_in"}, R"(
  pure subroutine average_pool_pullback( &
      points, channels, count, taps, stride, dilation, padding, edges, gy, gx)
    integer, intent(in) :: points, channels, count, taps, stride, dilation, padding, edges
    real(rk), intent(in) :: gy(channels, count)
    real(rk), intent(out) :: gx(channels, points)
    integer :: p, q, t, seen
    gx = 0
    do q = 1, count
      seen = points_in(q, points, taps, stride, dilation, padding, edges)
      do t = 1, taps
        p = point_at((q - 1) * stride + (t - 1) * dilation - padding, points, edges)
        if (p > 0) gx(:, p) = gx(:, p) + gy(:, q) / seen
      end do
    end do
  end subroutine average_pool_pullback
)"}};

}  // namespace

std::span<const SourceRoutine> fortran_column_routines() {
  return fortran_column_table;
}

}  // namespace mylos
