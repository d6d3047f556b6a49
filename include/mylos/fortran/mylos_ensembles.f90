! type(mylos_ensemble): several trained networks of the same inputs and outputs in a Fortran program.
module mylos_ensembles
  use, intrinsic :: iso_c_binding, only: c_associated, c_int32_t, c_int64_t, c_loc, c_null_char, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use mylos_arrays, only: described
  use mylos_c
  use mylos_errors, only: check, flag, mylos_error
  implicit none
  private
  public :: mylos_ensemble

  ! Follows the rules of type(mylos_model): a clone for each thread, and no assignment.
  type :: mylos_ensemble
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: load => ensemble_load
    procedure :: clone => ensemble_clone
    procedure :: free => ensemble_free
    procedure :: inputs => ensemble_inputs  ! values of a sample; 0 if nothing is loaded
    procedure :: outputs => ensemble_outputs
    procedure, private :: infer_32, infer_64
    generic :: infer => infer_32, infer_64
    procedure, private :: vjp_32, vjp_64, jvp_32, jvp_64, jacobian_32, jacobian_64
    generic :: vjp => vjp_32, vjp_64
    generic :: jvp => jvp_32, jvp_64
    generic :: jacobian => jacobian_32, jacobian_64
    final :: ensemble_final
  end type mylos_ensemble

contains

  ! Loads two or more files; trailing blanks in their names are ignored. `average`, `max_samples` and
  ! `derivatives` are those of a model.
  subroutine ensemble_load(self, paths, error, average, max_samples, derivatives)
    class(mylos_ensemble), intent(inout) :: self
    character(len=*), intent(in) :: paths(:)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: average
    integer, intent(in), optional :: max_samples
    logical, intent(in), optional :: derivatives
    character(len=len(paths) + 1), target :: names(size(paths))
    type(c_ptr) :: addresses(size(paths))
    type(c_load_options) :: options
    integer :: i
    do i = 1, size(paths)
      names(i) = trim(paths(i)) // c_null_char
      addresses(i) = c_loc(names(i))
    end do
    options%average = flag(average)
    if (present(max_samples)) options%max_samples = int(max_samples, c_int64_t)
    call self%free()
    if (flag(derivatives) /= 0) then
      call check(c_ensemble_open_with_derivatives(mylos_abi, addresses, size(paths, kind=c_int32_t), options, &
                                                  self%handle), error)
    else
      call check(c_ensemble_open(mylos_abi, addresses, size(paths, kind=c_int32_t), options, self%handle), error)
    end if
  end subroutine ensemble_load

  ! Makes `clone` an ensemble that shares the weights.
  subroutine ensemble_clone(self, clone, error)
    class(mylos_ensemble), intent(in) :: self
    type(mylos_ensemble), intent(inout) :: clone
    type(mylos_error), intent(inout), optional :: error
    call clone%free()
    call check(c_ensemble_clone(self%handle, clone%handle), error)
  end subroutine ensemble_clone

  ! Frees the ensemble, as the end of the variable's scope does.
  subroutine ensemble_free(self)
    class(mylos_ensemble), intent(inout) :: self
    integer(c_int32_t) :: status
    status = 0
    if (c_associated(self%handle)) status = c_ensemble_destroy(self%handle)
    if (status /= mylos_failed) self%handle = c_null_ptr  ! else it is in use, or this is a parallel region
  end subroutine ensemble_free

  subroutine ensemble_final(self)
    type(mylos_ensemble), intent(inout) :: self
    call self%free()
  end subroutine ensemble_final

  integer function ensemble_inputs(self)
    class(mylos_ensemble), intent(in) :: self
    type(c_model_info) :: info
    if (c_ensemble_get_info(self%handle, info) /= 0) info = c_model_info()
    ensemble_inputs = int(info%inputs)
  end function ensemble_inputs

  integer function ensemble_outputs(self)
    class(mylos_ensemble), intent(in) :: self
    type(c_model_info) :: info
    if (c_ensemble_get_info(self%handle, info) /= 0) info = c_model_info()
    ensemble_outputs = int(info%outputs)
  end function ensemble_outputs

  ! infer(x, mean, deviation, error, columns_first, raw): computes mean and standard deviation of the members'
  ! outputs; all arrays must have the same kind. `raw`: in the units of the networks, which must scale in the
  ! same way.

  subroutine infer_32(self, x, mean, deviation, error, columns_first, raw)
    class(mylos_ensemble), intent(in) :: self
    real(real32), intent(in), target :: x(..)
    real(real32), intent(inout), target :: mean(..), deviation(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_ensemble_infer(self%handle, described(x, columns_first), described(mean, columns_first), &
                                described(deviation, columns_first), flag(raw)), error)
  end subroutine infer_32

  subroutine infer_64(self, x, mean, deviation, error, columns_first, raw)
    class(mylos_ensemble), intent(in) :: self
    real(real64), intent(in), target :: x(..)
    real(real64), intent(inout), target :: mean(..), deviation(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_ensemble_infer(self%handle, described(x, columns_first), described(mean, columns_first), &
                                described(deviation, columns_first), flag(raw)), error)
  end subroutine infer_64

  ! vjp(x, dy, dx, error, columns_first, raw), jvp(x, dx, dy, ...) and jacobian(x, j, ...): derivatives of the mean, as of
  ! type(mylos_model), for an ensemble that was loaded with derivatives=.true.

  subroutine vjp_32(self, x, dy, dx, error, columns_first, raw)
    class(mylos_ensemble), intent(in) :: self
    real(real32), intent(in), target :: x(..), dy(..)
    real(real32), intent(inout), target :: dx(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_ensemble_vjp(self%handle, described(x, columns_first), described(dy, columns_first), &
                              described(dx, columns_first), flag(raw)), error)
  end subroutine vjp_32

  subroutine vjp_64(self, x, dy, dx, error, columns_first, raw)
    class(mylos_ensemble), intent(in) :: self
    real(real64), intent(in), target :: x(..), dy(..)
    real(real64), intent(inout), target :: dx(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_ensemble_vjp(self%handle, described(x, columns_first), described(dy, columns_first), &
                              described(dx, columns_first), flag(raw)), error)
  end subroutine vjp_64

  subroutine jvp_32(self, x, dx, dy, error, columns_first, raw)
    class(mylos_ensemble), intent(in) :: self
    real(real32), intent(in), target :: x(..), dx(..)
    real(real32), intent(inout), target :: dy(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_ensemble_jvp(self%handle, described(x, columns_first), described(dx, columns_first), &
                              described(dy, columns_first), flag(raw)), error)
  end subroutine jvp_32

  subroutine jvp_64(self, x, dx, dy, error, columns_first, raw)
    class(mylos_ensemble), intent(in) :: self
    real(real64), intent(in), target :: x(..), dx(..)
    real(real64), intent(inout), target :: dy(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_ensemble_jvp(self%handle, described(x, columns_first), described(dx, columns_first), &
                              described(dy, columns_first), flag(raw)), error)
  end subroutine jvp_64

  subroutine jacobian_32(self, x, j, error, columns_first, raw)
    class(mylos_ensemble), intent(in) :: self
    real(real32), intent(in), target :: x(..)
    real(real32), intent(inout), target :: j(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_ensemble_jacobian(self%handle, described(x, columns_first), described(j, columns_first), flag(raw)), error)
  end subroutine jacobian_32

  subroutine jacobian_64(self, x, j, error, columns_first, raw)
    class(mylos_ensemble), intent(in) :: self
    real(real64), intent(in), target :: x(..)
    real(real64), intent(inout), target :: j(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first, raw
    call check(c_ensemble_jacobian(self%handle, described(x, columns_first), described(j, columns_first), flag(raw)), error)
  end subroutine jacobian_64
end module mylos_ensembles
