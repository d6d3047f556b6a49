! Fortran arrays as mylos.h describes them: the address of the first element, extents and strides.
module mylos_arrays
  use, intrinsic :: iso_c_binding, only: c_associated, c_int32_t, c_int64_t, c_intptr_t, c_loc, c_ptr, c_null_ptr
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use mylos_c, only: c_array, mylos_columns_first, mylos_fp32, mylos_fp64, mylos_max_rank
  implicit none
  private
  public :: described

  ! Describes an array of 1 to 5 dimensions, which may be a section of a larger one; the address is null if
  ! the array is not allocated. The first dimension of the result is the last one of the array, because in C
  ! the elements of the last dimension are adjacent; `columns_first` keeps the order of the array.
  interface described
    module procedure described_32, described_64
  end interface described

contains

  ! Returns the number of elements between two addresses.
  function elements_between(first, second, bytes) result(count)
    type(c_ptr), intent(in) :: first, second
    integer, intent(in) :: bytes
    integer(c_int64_t) :: count
    count = (transfer(second, 0_c_intptr_t) - transfer(first, 0_c_intptr_t)) / bytes
  end function elements_between

  subroutine order_dimensions(array, columns_first)
    type(c_array), intent(inout) :: array
    logical, intent(in), optional :: columns_first
    integer :: n
    if (present(columns_first)) then
      if (columns_first) then
        array%order = mylos_columns_first
        return
      end if
    end if
    n = int(array%rank)
    array%extents(1:n) = array%extents(n:1:-1)
    array%strides(1:n) = array%strides(n:1:-1)
  end subroutine order_dimensions

  function described_32(x, columns_first) result(array)
    real(real32), intent(in), target :: x(..)
    logical, intent(in), optional :: columns_first
    type(c_array) :: array
    array%type = mylos_fp32
    array%rank = int(rank(x), c_int32_t)
    select rank (x)
    rank (1)
      call describe_32_1(x, array)
    rank (2)
      call describe_32_2(x, array)
    rank (3)
      call describe_32_3(x, array)
    rank (4)
      call describe_32_4(x, array)
    rank (5)
      call describe_32_5(x, array)
    rank default
      return  ! the library refuses the rank
    end select
    call order_dimensions(array, columns_first)
  end function described_32

  subroutine describe_32_1(a, array)
    real(real32), intent(in), target :: a(:)
    type(c_array), intent(inout) :: array
    array%data = c_loc(a)
    if (.not. c_associated(array%data)) return
    array%extents(1:1) = shape(a, c_int64_t)
    if (any(array%extents(1:1) == 0)) return
    if (array%extents(1) > 1) array%strides(1) = elements_between(array%data, c_loc(a(2)), 4)
  end subroutine describe_32_1

  subroutine describe_32_2(a, array)
    real(real32), intent(in), target :: a(:, :)
    type(c_array), intent(inout) :: array
    array%data = c_loc(a)
    if (.not. c_associated(array%data)) return
    array%extents(1:2) = shape(a, c_int64_t)
    if (any(array%extents(1:2) == 0)) return
    if (array%extents(1) > 1) array%strides(1) = elements_between(array%data, c_loc(a(2, 1)), 4)
    if (array%extents(2) > 1) array%strides(2) = elements_between(array%data, c_loc(a(1, 2)), 4)
  end subroutine describe_32_2

  subroutine describe_32_3(a, array)
    real(real32), intent(in), target :: a(:, :, :)
    type(c_array), intent(inout) :: array
    array%data = c_loc(a)
    if (.not. c_associated(array%data)) return
    array%extents(1:3) = shape(a, c_int64_t)
    if (any(array%extents(1:3) == 0)) return
    if (array%extents(1) > 1) array%strides(1) = elements_between(array%data, c_loc(a(2, 1, 1)), 4)
    if (array%extents(2) > 1) array%strides(2) = elements_between(array%data, c_loc(a(1, 2, 1)), 4)
    if (array%extents(3) > 1) array%strides(3) = elements_between(array%data, c_loc(a(1, 1, 2)), 4)
  end subroutine describe_32_3

  subroutine describe_32_4(a, array)
    real(real32), intent(in), target :: a(:, :, :, :)
    type(c_array), intent(inout) :: array
    array%data = c_loc(a)
    if (.not. c_associated(array%data)) return
    array%extents(1:4) = shape(a, c_int64_t)
    if (any(array%extents(1:4) == 0)) return
    if (array%extents(1) > 1) array%strides(1) = elements_between(array%data, c_loc(a(2, 1, 1, 1)), 4)
    if (array%extents(2) > 1) array%strides(2) = elements_between(array%data, c_loc(a(1, 2, 1, 1)), 4)
    if (array%extents(3) > 1) array%strides(3) = elements_between(array%data, c_loc(a(1, 1, 2, 1)), 4)
    if (array%extents(4) > 1) array%strides(4) = elements_between(array%data, c_loc(a(1, 1, 1, 2)), 4)
  end subroutine describe_32_4

  subroutine describe_32_5(a, array)
    real(real32), intent(in), target :: a(:, :, :, :, :)
    type(c_array), intent(inout) :: array
    array%data = c_loc(a)
    if (.not. c_associated(array%data)) return
    array%extents(1:5) = shape(a, c_int64_t)
    if (any(array%extents(1:5) == 0)) return
    if (array%extents(1) > 1) array%strides(1) = elements_between(array%data, c_loc(a(2, 1, 1, 1, 1)), 4)
    if (array%extents(2) > 1) array%strides(2) = elements_between(array%data, c_loc(a(1, 2, 1, 1, 1)), 4)
    if (array%extents(3) > 1) array%strides(3) = elements_between(array%data, c_loc(a(1, 1, 2, 1, 1)), 4)
    if (array%extents(4) > 1) array%strides(4) = elements_between(array%data, c_loc(a(1, 1, 1, 2, 1)), 4)
    if (array%extents(5) > 1) array%strides(5) = elements_between(array%data, c_loc(a(1, 1, 1, 1, 2)), 4)
  end subroutine describe_32_5

  function described_64(x, columns_first) result(array)
    real(real64), intent(in), target :: x(..)
    logical, intent(in), optional :: columns_first
    type(c_array) :: array
    array%type = mylos_fp64
    array%rank = int(rank(x), c_int32_t)
    select rank (x)
    rank (1)
      call describe_64_1(x, array)
    rank (2)
      call describe_64_2(x, array)
    rank (3)
      call describe_64_3(x, array)
    rank (4)
      call describe_64_4(x, array)
    rank (5)
      call describe_64_5(x, array)
    rank default
      return  ! the library refuses the rank
    end select
    call order_dimensions(array, columns_first)
  end function described_64

  subroutine describe_64_1(a, array)
    real(real64), intent(in), target :: a(:)
    type(c_array), intent(inout) :: array
    array%data = c_loc(a)
    if (.not. c_associated(array%data)) return
    array%extents(1:1) = shape(a, c_int64_t)
    if (any(array%extents(1:1) == 0)) return
    if (array%extents(1) > 1) array%strides(1) = elements_between(array%data, c_loc(a(2)), 8)
  end subroutine describe_64_1

  subroutine describe_64_2(a, array)
    real(real64), intent(in), target :: a(:, :)
    type(c_array), intent(inout) :: array
    array%data = c_loc(a)
    if (.not. c_associated(array%data)) return
    array%extents(1:2) = shape(a, c_int64_t)
    if (any(array%extents(1:2) == 0)) return
    if (array%extents(1) > 1) array%strides(1) = elements_between(array%data, c_loc(a(2, 1)), 8)
    if (array%extents(2) > 1) array%strides(2) = elements_between(array%data, c_loc(a(1, 2)), 8)
  end subroutine describe_64_2

  subroutine describe_64_3(a, array)
    real(real64), intent(in), target :: a(:, :, :)
    type(c_array), intent(inout) :: array
    array%data = c_loc(a)
    if (.not. c_associated(array%data)) return
    array%extents(1:3) = shape(a, c_int64_t)
    if (any(array%extents(1:3) == 0)) return
    if (array%extents(1) > 1) array%strides(1) = elements_between(array%data, c_loc(a(2, 1, 1)), 8)
    if (array%extents(2) > 1) array%strides(2) = elements_between(array%data, c_loc(a(1, 2, 1)), 8)
    if (array%extents(3) > 1) array%strides(3) = elements_between(array%data, c_loc(a(1, 1, 2)), 8)
  end subroutine describe_64_3

  subroutine describe_64_4(a, array)
    real(real64), intent(in), target :: a(:, :, :, :)
    type(c_array), intent(inout) :: array
    array%data = c_loc(a)
    if (.not. c_associated(array%data)) return
    array%extents(1:4) = shape(a, c_int64_t)
    if (any(array%extents(1:4) == 0)) return
    if (array%extents(1) > 1) array%strides(1) = elements_between(array%data, c_loc(a(2, 1, 1, 1)), 8)
    if (array%extents(2) > 1) array%strides(2) = elements_between(array%data, c_loc(a(1, 2, 1, 1)), 8)
    if (array%extents(3) > 1) array%strides(3) = elements_between(array%data, c_loc(a(1, 1, 2, 1)), 8)
    if (array%extents(4) > 1) array%strides(4) = elements_between(array%data, c_loc(a(1, 1, 1, 2)), 8)
  end subroutine describe_64_4

  subroutine describe_64_5(a, array)
    real(real64), intent(in), target :: a(:, :, :, :, :)
    type(c_array), intent(inout) :: array
    array%data = c_loc(a)
    if (.not. c_associated(array%data)) return
    array%extents(1:5) = shape(a, c_int64_t)
    if (any(array%extents(1:5) == 0)) return
    if (array%extents(1) > 1) array%strides(1) = elements_between(array%data, c_loc(a(2, 1, 1, 1, 1)), 8)
    if (array%extents(2) > 1) array%strides(2) = elements_between(array%data, c_loc(a(1, 2, 1, 1, 1)), 8)
    if (array%extents(3) > 1) array%strides(3) = elements_between(array%data, c_loc(a(1, 1, 2, 1, 1)), 8)
    if (array%extents(4) > 1) array%strides(4) = elements_between(array%data, c_loc(a(1, 1, 1, 2, 1)), 8)
    if (array%extents(5) > 1) array%strides(5) = elements_between(array%data, c_loc(a(1, 1, 1, 1, 2)), 8)
  end subroutine describe_64_5
end module mylos_arrays
