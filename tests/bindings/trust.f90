! trust INPUTS.bin EXPECTED.bin ROWS WITHOUT.h5 MODEL.h5 MODEL2.h5 MODEL3.h5: flags of MODEL.h5 and an ensemble of the last
! three; the arguments are those of trust.c. Prints "ok".
program trust
  use, intrinsic :: iso_fortran_env, only: error_unit, int8, real32, real64
  use mylos
  implicit none
  integer, parameter :: features = 6, outputs = 3
  type(mylos_model) :: model, without
  type(mylos_ensemble) :: ensemble, clone
  type(mylos_error) :: error
  character(len=1000) :: argument, files(3)
  real(real32), allocatable :: x(:, :), expected(:), mean(:, :), deviation(:, :), lower(:, :)
  real(real64), allocatable :: cube(:, :, :), columns(:, :), mean64(:, :), deviation64(:, :)
  real(real32) :: dx(features, 2), dy(outputs, 2), j(features, outputs, 2)
  integer(int8), allocatable :: flags(:), wanted(:)
  integer :: rows, i

  call get_command_argument(3, argument)
  read (argument, *) rows
  allocate (x(features, rows), expected(rows * (2 + 2 * outputs)), mean(outputs, rows), deviation(outputs, rows))
  allocate (lower(outputs, rows), mean64(outputs, rows), deviation64(outputs, rows), columns(rows, features))
  call read_floats(1, features * rows, x)
  call read_floats(2, size(expected), expected)
  wanted = int(expected(1:rows), int8)
  call get_command_argument(4, argument)
  call without%load(argument)
  call get_command_argument(5, argument)
  call model%load(argument)

  call model%check_inputs(x, flags)
  call require(size(flags) == rows .and. all(flags == wanted), "flags")
  call require(any(iand(flags, mylos_outside_range) /= 0) .and. any(flags == 0), "some flags")
  cube = reshape(real(x(:, 1:rows / 5 * 5), real64), [features, 5, rows / 5])
  call model%check_inputs(cube, flags)
  call require(size(flags) == rows / 5 * 5 .and. all(flags == wanted(1:size(flags))), "flags of rank 3")
  columns = transpose(x)
  call model%check_inputs(columns, flags, columns_first=.true., distance=.false.)
  call require(all(flags == iand(wanted, mylos_outside_range)), "ranges, columns first")
  call model%check_inputs(x, flags, range=.false., limit=2.5_real64)
  call require(all((flags == mylos_far) .eqv. (expected(rows + 1:2 * rows) > 2.5_real32)), "a limit")
  call require(any(flags == mylos_far) .and. all(flags == 0 .or. flags == mylos_far), "far alone")
  x(2, 4) = sqrt(-abs(x(2, 4)) - 1)
  call model%check_inputs(x, flags)
  call require(flags(4) == mylos_outside_range + mylos_far + mylos_not_finite, "NaN")
  call read_floats(1, features * rows, x)

  call without%check_inputs(x, flags, error)
  call require(error%code == 2 .and. error%id == "missing-dataset", "no statistics")
  call model%infer_bounds(x, mean, lower, deviation, error)
  call require(error%code == 2 .and. error%id == "missing-dataset", "no calibration")
  call model%infer_deviation(x, mean, deviation, error)
  call require(error%code == 2 .and. error%id == "missing-dataset", "no deviations")
  call require(abs(model%coverage()) < tiny(1.0_real64) .and. .not. model%has_deviations(), "neither")

  do i = 1, 3
    call get_command_argument(4 + i, files(i))
  end do
  call ensemble%load(files)
  call require(ensemble%inputs() == features .and. ensemble%outputs() == outputs, "sizes")
  call ensemble%clone(clone)
  call ensemble%free()
  call clone%infer(x, mean, deviation)
  call require_near(mean, 2, "mean")
  call require_near(deviation, 2 + outputs, "deviation")
  call clone%infer(real(x, real64), mean64, deviation64)
  call require(all(mean64 == real(mean, real64)) .and. all(deviation64 == real(deviation, real64)), "real64")
  call ensemble%load(files, derivatives=.true.)
  call ensemble%vjp(x(:, 1:2), mean(:, 1:2), dx)
  call ensemble%jvp(x(:, 1:2), dx, dy)
  call ensemble%jacobian(x(:, 1:2), j)
  do i = 1, 2
    call require(all(abs(dx(:, i) - matmul(j(:, :, i), mean(:, i))) <= 1e-4 * maxval(abs(dx(:, i)))), "vjp of the mean")
    call require(all(abs(dy(:, i) - matmul(dx(:, i), j(:, :, i))) <= 1e-4 * maxval(abs(dy(:, i)))), "jvp of the mean")
  end do
  call ensemble%load(files(1:1), error)
  call require(error%code == 2 .and. error%id == "bad-call", "one member")
  print "(a)", "ok"

contains

  subroutine read_floats(number, count, values)
    integer, intent(in) :: number, count
    real(real32), intent(out) :: values(count)
    integer :: unit
    call get_command_argument(number, argument)
    open (newunit=unit, file=trim(argument), access="stream", form="unformatted", status="old", action="read")
    read (unit) values
    close (unit)
  end subroutine read_floats

  ! Compares with the part of EXPECTED.bin that begins after `arrays` numbers of each row.
  subroutine require_near(found, arrays, what)
    real(real32), intent(in) :: found(outputs, rows)
    integer, intent(in) :: arrays
    character(len=*), intent(in) :: what
    real(real32) :: right(outputs, rows)
    right = reshape(expected(arrays * rows + 1:(arrays + outputs) * rows), [outputs, rows])
    call require(all(abs(found - right) <= 2e-6_real32 * abs(right) + 1e-9_real32), what)
  end subroutine require_near

  include "require.inc"
end program trust
