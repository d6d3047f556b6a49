! infer MODEL INPUTS.bin OUTPUTS.bin ROWS: the outputs of arrays of both kinds, of several ranks and of sections, which must
! have the bits of OUTPUTS.bin, what `mylos predict` computes; and refusals. Prints "ok".
program infer
  use, intrinsic :: iso_fortran_env, only: error_unit, real32, real64
  use mylos
  implicit none
  integer, parameter :: features = 6, outputs = 3
  type(mylos_model) :: model, clone, empty
  type(mylos_error) :: error
  character(len=1000) :: argument
  real(real32), allocatable :: x(:, :), expected(:, :), y(:, :)
  real(real64), allocatable :: x_columns(:, :), y_columns(:, :), cube(:, :, :), y_cube(:, :, :), missing(:, :), y64(:, :)
  integer :: rows

  call get_command_argument(4, argument)
  read (argument, *) rows
  allocate (x(features, rows), expected(outputs, rows), y(outputs, rows), y64(outputs, rows))
  call read_floats(2, x)
  call read_floats(3, expected)

  call model%load("nowhere.h5", error)
  call require(error%code == 2 .and. error%id == "no-such-file" .and. index(error%message, "nowhere.h5") > 0, "no file")
  call get_command_argument(1, argument)
  call model%load(argument, error, shape=[features, 3, 2])
  call require(error%code == 2 .and. error%id == "data-mismatch" .and. index(error%message, "2 x 3 x") > 0, &
               "a vector network has no grid")
  call model%load(argument, error)
  call require(error%code == 0, "load")
  call require(model%inputs() == features .and. model%outputs() == outputs, "sizes")
  call require(all(model%input_shape() == [features]), "shape")
  call require(model%input_name(1) == "x0" .and. model%target_name(3) == "y2" .and. model%input_name(7) == "", "names")

  call model%infer(x, y)
  call require(all(y == expected), "features first, real32")
  call model%infer(real(x, real64), y)
  call require(all(y == expected), "features first, real64 to real32")
  call model%infer(x, y64)
  call require(all(y64 == real(expected, real64)), "features first, real32 to real64")

  allocate (x_columns(rows + 4, features + 1), y_columns(rows + 2, outputs))
  x_columns = 0
  x_columns(3:rows + 2, 2:) = transpose(x)
  y_columns = -7
  call model%infer(x_columns(3:rows + 2, 2:), y_columns(2:rows + 1, :), columns_first=.true.)
  call require(all(y_columns(2:rows + 1, :) == transpose(expected)), "columns first, sections")
  call require(all(y_columns(1, :) == -7) .and. all(y_columns(rows + 2, :) == -7), "what lies beside a section")

  y = -7
  call model%infer(x(:, 1:rows:3), y(:, 1:rows:3))
  call require(all(y(:, 1:rows:3) == expected(:, 1:rows:3)) .and. all(y(:, 2:rows:3) == -7), "every third column")
  y(:, 1) = -7
  call model%infer(x(:, 1), y(:, 1))
  call require(all(y(:, 1) == expected(:, 1)), "one column, rank 1")

  cube = reshape(real(x, real64), [features, 5, rows / 5])
  allocate (y_cube(outputs, 5, rows / 5))
  call model%infer(cube, y_cube)
  call require(all(reshape(y_cube, [outputs, rows / 5 * 5]) == expected(:, 1:rows / 5 * 5)), "rank 3")
  call four_and_five_dimensions()

  call derivatives()
  call model%clone(clone, error)
  call require(error%code == 0, "clone")
  call model%free()
  call clone%infer(x, y)
  call require(all(y == expected), "a clone outlives the model")

  call empty%infer(x, y, error)
  call require(error%code == 2 .and. error%id == "bad-call", "a model that was not loaded")
  call clone%infer(missing, y64, error)
  call require(error%code == 2 .and. index(error%message, "not allocated") > 0, "an array that is not allocated")
  call clone%infer(x(2:, :), y, error)
  call require(error%code == 2 .and. index(error%message, "x5") > 0, "wrong features list the names")
  call require(index(error%message, "x is (5, ") > 0 .and. index(error%message, "first dimension") > 0 .and. &
               index(error%message, "columns_first") > 0, "wrong features are named in Fortran's order")
  call clone%infer(x(:, rows:1:-1), y, error)
  call require(error%code == 2, "a negative stride")
  call clone%infer(x(:, 1:0), y(:, 1:0), error)
  call require(error%code == 0, "no columns")
  print "(a)", "ok"

contains

  subroutine derivatives()
    type(mylos_model) :: derived
    real(real64) :: inputs(features, 2), dy(outputs, 2), dx(features, 2), j(features, outputs, 2), j_columns(2, outputs, features)
    integer :: sample, output
    inputs = real(x(:, 1:2), real64)
    dy = reshape([0.5_real64, -1.0_real64, 2.0_real64, 1.0_real64, 0.0_real64, 0.25_real64], shape(dy))
    call model%vjp(inputs, dy, dx, error)
    call require(error%code == 2 .and. error%id == "bad-call", "a model without derivatives")
    call get_command_argument(1, argument)
    call derived%load(argument, derivatives=.true.)
    call derived%vjp(inputs, dy, dx)
    call derived%jacobian(inputs, j)
    call derived%jacobian(transpose(inputs), j_columns, columns_first=.true.)
    do sample = 1, 2
      call require(all(abs(dx(:, sample) - matmul(j(:, :, sample), dy(:, sample))) < 1e-5 * (1 + abs(dx(:, sample)))), &
                   "a product with the Jacobian")
      do output = 1, outputs
        call require(all(j_columns(sample, output, :) == j(:, output, sample)), "columns first")
      end do
    end do
    call derived%free()
    call derived%load(argument, derivatives=.true., in_double=.true.)
    call derived%jacobian(inputs, j)
    call derived%jvp(inputs, inputs, dy, error)
    call require(error%code == 2 .and. index(error%message, "dx") > 0, "x as a direction")
    dx = 0.5_real64 * inputs + 0.25_real64
    call derived%jvp(inputs, dx, dy)
    do sample = 1, 2
      call require(all(abs(dy(:, sample) - matmul(dx(:, sample), j(:, :, sample))) < 1e-13_real64 * (1 + abs(dy(:, sample)))), &
                   "a product of the Jacobian in double")
    end do
    call derived%free()
  end subroutine derivatives

  subroutine four_and_five_dimensions()
    real(real32) :: x4(features, 2, 2, 3), y4(outputs, 2, 2, 3), x5(2, 2, 3, 1, features), y5(2, 2, 3, 1, outputs)
    integer :: feature
    x4 = reshape(x(:, 1:12), shape(x4))
    call model%infer(x4, y4)
    call require(all(reshape(y4, [outputs, 12]) == expected(:, 1:12)), "rank 4")
    do feature = 1, features
      x5(:, :, :, 1, feature) = reshape(x(feature, 1:12), [2, 2, 3])
    end do
    call model%infer(x5, y5, columns_first=.true.)
    do feature = 1, outputs
      call require(all(reshape(y5(:, :, :, 1, feature), [12]) == expected(feature, 1:12)), "rank 5, columns first")
    end do
  end subroutine four_and_five_dimensions

  subroutine read_floats(number, values)
    integer, intent(in) :: number
    real(real32), intent(out) :: values(:, :)
    integer :: unit
    call get_command_argument(number, argument)
    open (newunit=unit, file=trim(argument), access="stream", form="unformatted", status="old", action="read")
    read (unit) values
    close (unit)
  end subroutine read_floats

  include "require.inc"
end program infer
