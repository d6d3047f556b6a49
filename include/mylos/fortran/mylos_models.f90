! type(mylos_model): a trained network in a Fortran program.
module mylos_models
  use, intrinsic :: iso_c_binding, only: c_associated, c_int32_t, c_int64_t, c_loc, c_null_char, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int8, real32, real64
  use mylos_arrays, only: described
  use mylos_c
  use mylos_errors, only: check, flag, mylos_error, text_of
  implicit none
  private
  public :: mylos_model, mylos_outside_range, mylos_far, mylos_not_finite

  ! The bits of a flag that check_inputs() sets: iand(flags(i), mylos_far) /= 0.
  integer(int8), parameter :: mylos_outside_range = 1_int8, mylos_far = 2_int8, mylos_not_finite = 4_int8

  ! A trained network. Only one thread at a time may use it, and a call that finds another one running is an
  ! error: in a parallel region each thread needs a clone, made and freed outside of the region. Clone it
  ! instead of copying it by "=".
  type :: mylos_model
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: load => model_load
    procedure :: clone => model_clone
    procedure :: free => model_free
    procedure :: inputs => model_inputs  ! values of a sample; 0 if nothing is loaded
    procedure :: outputs => model_outputs
    procedure :: input_shape => model_input_shape  ! in Fortran's order: channels first
    procedure :: output_shape => model_output_shape
    procedure :: input_name => model_input_name  ! of feature 1, 2, ...; "" if it has none
    procedure :: target_name => model_target_name
    procedure :: class_name => model_class_name
    procedure, private :: infer_32_32, infer_32_64, infer_64_32, infer_64_64
    generic :: infer => infer_32_32, infer_32_64, infer_64_32, infer_64_64
    procedure, private :: vjp_32, vjp_64, jvp_32, jvp_64, jacobian_32, jacobian_64
    generic :: vjp => vjp_32, vjp_64
    generic :: jvp => jvp_32, jvp_64
    generic :: jacobian => jacobian_32, jacobian_64
    procedure :: coverage => model_coverage  ! of the intervals; 0: the file has no calibration
    procedure :: has_deviations => model_has_deviations
    procedure, private :: bounds_32, bounds_64, deviations_32, deviations_64, check_32, check_64
    generic :: infer_bounds => bounds_32, bounds_64
    generic :: infer_deviation => deviations_32, deviations_64
    generic :: check_inputs => check_32, check_64
    final :: model_final
  end type mylos_model

contains

  ! Loads a model file or a checkpoint. `average`: the moving average of the weights. `max_samples`: the
  ! number of samples computed at a time, which bounds the workspace. `shape`: the shape of a sample on a
  ! different grid from that of training, channels first. `threads`: the calls that may compute at the same time,
  ! each on its calling thread alone; 1 by default. `derivatives`: vjp(), jvp() and jacobian() may be called; the network
  ! is then held once more, in float. `in_double`: the model computes in double, of networks of vectors.
  subroutine model_load(self, path, error, average, max_samples, shape, threads, derivatives, in_double)
    class(mylos_model), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: average
    integer, intent(in), optional :: max_samples
    integer, intent(in), optional :: shape(:)
    integer, intent(in), optional :: threads
    logical, intent(in), optional :: derivatives, in_double
    type(c_load_options) :: options
    integer(c_int64_t), allocatable :: grid(:)
    integer(c_int32_t) :: rank
    options%average = flag(average)
    if (present(max_samples)) options%max_samples = int(max_samples, c_int64_t)
    if (present(threads)) options%threads = int(threads, c_int32_t)
    allocate (grid(0))
    if (present(shape)) grid = int(shape(size(shape):1:-1), c_int64_t)
    rank = size(grid, kind=c_int32_t)
    call self%free()
    if (flag(in_double) /= 0) then
      call check(c_model_open_in_double(mylos_abi, trim(path) // c_null_char, options, flag(derivatives), rank, grid, &
                                        self%handle), error)
    else if (flag(derivatives) /= 0) then
      call check(c_model_open_with_derivatives(mylos_abi, trim(path) // c_null_char, options, rank, grid, self%handle), error)
    else if (present(shape)) then
      call check(c_model_open_on_grid(mylos_abi, trim(path) // c_null_char, options, rank, grid, self%handle), error)
    else
      call check(c_model_open(mylos_abi, trim(path) // c_null_char, options, self%handle), error)
    end if
  end subroutine model_load

  ! Makes `clone` a model that shares the weights.
  subroutine model_clone(self, clone, error)
    class(mylos_model), intent(in) :: self
    type(mylos_model), intent(inout) :: clone
    type(mylos_error), intent(inout), optional :: error
    call clone%free()
    call check(c_model_clone(self%handle, clone%handle), error)
  end subroutine model_clone

  ! Frees the model, as the end of the variable's scope does.
  subroutine model_free(self)
    class(mylos_model), intent(inout) :: self
    integer(c_int32_t) :: status
    status = 0
    if (c_associated(self%handle)) status = c_model_destroy(self%handle)
    if (status /= mylos_failed) self%handle = c_null_ptr  ! else it is in use, or this is a parallel region
  end subroutine model_free

  subroutine model_final(self)
    type(mylos_model), intent(inout) :: self
    call self%free()
  end subroutine model_final

  function info_of(self) result(info)
    class(mylos_model), intent(in) :: self
    type(c_model_info) :: info
    if (c_model_get_info(self%handle, info) /= 0) info = c_model_info()
  end function info_of

  integer function model_inputs(self)
    class(mylos_model), intent(in) :: self
    type(c_model_info) :: info
    info = info_of(self)
    model_inputs = int(info%inputs)
  end function model_inputs

  integer function model_outputs(self)
    class(mylos_model), intent(in) :: self
    type(c_model_info) :: info
    info = info_of(self)
    model_outputs = int(info%outputs)
  end function model_outputs

  function model_input_shape(self) result(extents)
    class(mylos_model), intent(in) :: self
    integer, allocatable :: extents(:)
    type(c_model_info) :: info
    info = info_of(self)
    extents = int(info%input_shape(info%input_rank:1:-1))
  end function model_input_shape

  function model_output_shape(self) result(extents)
    class(mylos_model), intent(in) :: self
    integer, allocatable :: extents(:)
    type(c_model_info) :: info
    info = info_of(self)
    extents = int(info%output_shape(info%output_rank:1:-1))
  end function model_output_shape

  function model_input_name(self, index) result(name)
    class(mylos_model), intent(in) :: self
    integer, intent(in) :: index
    character(len=:), allocatable :: name
    name = text_of(c_model_name(self%handle, mylos_input_names, int(index - 1, c_int64_t)))
  end function model_input_name

  function model_target_name(self, index) result(name)
    class(mylos_model), intent(in) :: self
    integer, intent(in) :: index
    character(len=:), allocatable :: name
    name = text_of(c_model_name(self%handle, mylos_target_names, int(index - 1, c_int64_t)))
  end function model_target_name

  function model_class_name(self, index) result(name)
    class(mylos_model), intent(in) :: self
    integer, intent(in) :: index
    character(len=:), allocatable :: name
    name = text_of(c_model_name(self%handle, mylos_class_names, int(index - 1, c_int64_t)))
  end function model_class_name

  ! infer(x, y, error, columns_first, raw): computes y from x, which must not overlap. After an error y is
  ! unchanged. `raw`: in the units of the network, without scaling.

  subroutine infer_32_32(self, x, y, error, columns_first, raw)
    class(mylos_model), intent(in) :: self
    real(real32), intent(in), target :: x(..)
    real(real32), intent(inout), target :: y(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_model_infer(self%handle, described(x, columns_first), described(y, columns_first), flag(raw)), error)
  end subroutine infer_32_32

  subroutine infer_32_64(self, x, y, error, columns_first, raw)
    class(mylos_model), intent(in) :: self
    real(real32), intent(in), target :: x(..)
    real(real64), intent(inout), target :: y(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_model_infer(self%handle, described(x, columns_first), described(y, columns_first), flag(raw)), error)
  end subroutine infer_32_64

  subroutine infer_64_32(self, x, y, error, columns_first, raw)
    class(mylos_model), intent(in) :: self
    real(real64), intent(in), target :: x(..)
    real(real32), intent(inout), target :: y(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_model_infer(self%handle, described(x, columns_first), described(y, columns_first), flag(raw)), error)
  end subroutine infer_64_32

  subroutine infer_64_64(self, x, y, error, columns_first, raw)
    class(mylos_model), intent(in) :: self
    real(real64), intent(in), target :: x(..)
    real(real64), intent(inout), target :: y(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_model_infer(self%handle, described(x, columns_first), described(y, columns_first), flag(raw)), error)
  end subroutine infer_64_64

  ! vjp(x, dy, dx, error, columns_first, raw): for a model that was loaded with derivatives=.true., dx = J^T dy, where J are
  ! the derivatives of the outputs with respect to the inputs at x. dx is like x, dy like y of infer().
  ! jvp(x, dx, dy, error, columns_first, raw): dy = J dx.
  ! jacobian(x, j, error, columns_first, raw): J itself, j(inputs, outputs, samples), or with columns_first
  ! j(samples, outputs, inputs). All arrays must have the same kind.

  subroutine vjp_32(self, x, dy, dx, error, columns_first, raw)
    class(mylos_model), intent(in) :: self
    real(real32), intent(in), target :: x(..), dy(..)
    real(real32), intent(inout), target :: dx(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_model_vjp(self%handle, described(x, columns_first), described(dy, columns_first), &
                           described(dx, columns_first), flag(raw)), error)
  end subroutine vjp_32

  subroutine vjp_64(self, x, dy, dx, error, columns_first, raw)
    class(mylos_model), intent(in) :: self
    real(real64), intent(in), target :: x(..), dy(..)
    real(real64), intent(inout), target :: dx(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_model_vjp(self%handle, described(x, columns_first), described(dy, columns_first), &
                           described(dx, columns_first), flag(raw)), error)
  end subroutine vjp_64

  subroutine jvp_32(self, x, dx, dy, error, columns_first, raw)
    class(mylos_model), intent(in) :: self
    real(real32), intent(in), target :: x(..), dx(..)
    real(real32), intent(inout), target :: dy(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_model_jvp(self%handle, described(x, columns_first), described(dx, columns_first), &
                           described(dy, columns_first), flag(raw)), error)
  end subroutine jvp_32

  subroutine jvp_64(self, x, dx, dy, error, columns_first, raw)
    class(mylos_model), intent(in) :: self
    real(real64), intent(in), target :: x(..), dx(..)
    real(real64), intent(inout), target :: dy(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_model_jvp(self%handle, described(x, columns_first), described(dx, columns_first), &
                           described(dy, columns_first), flag(raw)), error)
  end subroutine jvp_64

  subroutine jacobian_32(self, x, j, error, columns_first, raw)
    class(mylos_model), intent(in) :: self
    real(real32), intent(in), target :: x(..)
    real(real32), intent(inout), target :: j(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_model_jacobian(self%handle, described(x, columns_first), described(j, columns_first), flag(raw)), error)
  end subroutine jacobian_32

  subroutine jacobian_64(self, x, j, error, columns_first, raw)
    class(mylos_model), intent(in) :: self
    real(real64), intent(in), target :: x(..)
    real(real64), intent(inout), target :: j(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_model_jacobian(self%handle, described(x, columns_first), described(j, columns_first), flag(raw)), error)
  end subroutine jacobian_64

  ! infer_bounds(x, y, lower, upper, error, columns_first): for a file with a calibration. The target of a
  ! sample like those of the calibration lies between the bounds with probability coverage(). All arrays must
  ! have the same kind.
  ! infer_deviation(x, y, deviation, error, columns_first): for a network that computes standard deviations.
  ! check_inputs(x, flags, error, columns_first, range, distance, limit): flags(i) is 0 if sample i is like
  ! the training samples, otherwise a sum of mylos_outside_range, mylos_far and mylos_not_finite. Samples are
  ! numbered in the order of x, with its second dimension varying fastest; with columns_first, the last
  ! dimension before the features varies fastest. `flags` is allocated for them.
  ! range=.false. or distance=.false.: that measure is not compared. `limit`: distances above it are far.

  subroutine bounds_32(self, x, y, lower, upper, error, columns_first)
    class(mylos_model), intent(in) :: self
    real(real32), intent(in), target :: x(..)
    real(real32), intent(inout), target :: y(..), lower(..), upper(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first
    call check(c_model_infer_uncertain(self%handle, described(x, columns_first), described(y, columns_first), &
                                       lower=described(lower, columns_first), upper=described(upper, columns_first)), error)
  end subroutine bounds_32

  subroutine deviations_32(self, x, y, deviation, error, columns_first)
    class(mylos_model), intent(in) :: self
    real(real32), intent(in), target :: x(..)
    real(real32), intent(inout), target :: y(..), deviation(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first
    call check(c_model_infer_uncertain(self%handle, described(x, columns_first), described(y, columns_first), &
                                       deviation=described(deviation, columns_first)), error)
  end subroutine deviations_32

  subroutine check_32(self, x, flags, error, columns_first, range, distance, limit)
    class(mylos_model), intent(in) :: self
    real(real32), intent(in), target :: x(..)
    integer(int8), allocatable, intent(inout), target :: flags(:)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, range, distance
    real(real64), intent(in), optional :: limit
    call check_array(self, described(x, columns_first), flags, error, range, distance, limit)
  end subroutine check_32

  subroutine bounds_64(self, x, y, lower, upper, error, columns_first)
    class(mylos_model), intent(in) :: self
    real(real64), intent(in), target :: x(..)
    real(real64), intent(inout), target :: y(..), lower(..), upper(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first
    call check(c_model_infer_uncertain(self%handle, described(x, columns_first), described(y, columns_first), &
                                       lower=described(lower, columns_first), upper=described(upper, columns_first)), error)
  end subroutine bounds_64

  subroutine deviations_64(self, x, y, deviation, error, columns_first)
    class(mylos_model), intent(in) :: self
    real(real64), intent(in), target :: x(..)
    real(real64), intent(inout), target :: y(..), deviation(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first
    call check(c_model_infer_uncertain(self%handle, described(x, columns_first), described(y, columns_first), &
                                       deviation=described(deviation, columns_first)), error)
  end subroutine deviations_64

  subroutine check_64(self, x, flags, error, columns_first, range, distance, limit)
    class(mylos_model), intent(in) :: self
    real(real64), intent(in), target :: x(..)
    integer(int8), allocatable, intent(inout), target :: flags(:)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, range, distance
    real(real64), intent(in), optional :: limit
    call check_array(self, described(x, columns_first), flags, error, range, distance, limit)
  end subroutine check_64

  subroutine check_array(self, x, flags, error, range, distance, limit)
    class(mylos_model), intent(in) :: self
    type(c_array), intent(in) :: x
    integer(int8), allocatable, intent(inout), target :: flags(:)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: range, distance
    real(real64), intent(in), optional :: limit
    type(c_input_check) :: options
    integer :: samples
    samples = int(product(x%extents(1:x%rank)) / max(1, self%inputs()))
    if (allocated(flags)) then
      if (size(flags) /= samples) deallocate (flags)
    end if
    if (.not. allocated(flags)) allocate (flags(samples))
    if (present(range)) options%no_range = flag(.not. range)
    if (present(distance)) options%no_distance = flag(.not. distance)
    if (present(limit)) options%limit = limit
    call check(c_model_check_inputs(self%handle, x, options, c_loc(flags), c_null_ptr), error)
  end subroutine check_array

  function trust_of(self) result(info)
    class(mylos_model), intent(in) :: self
    type(c_trust_info) :: info
    if (c_model_get_trust(self%handle, info) /= 0) info = c_trust_info()
  end function trust_of

  real(real64) function model_coverage(self)
    class(mylos_model), intent(in) :: self
    type(c_trust_info) :: info
    info = trust_of(self)
    model_coverage = info%coverage
  end function model_coverage

  logical function model_has_deviations(self)
    class(mylos_model), intent(in) :: self
    type(c_trust_info) :: info
    info = trust_of(self)
    model_has_deviations = info%has_deviations /= 0
  end function model_has_deviations
end module mylos_models
