! type(mylos_trainer): a network that a Fortran program trains.
module mylos_trainers
  use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_int, c_int32_t, c_int64_t, c_loc, c_null_char, &
                                         c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use mylos_arrays, only: described
  use mylos_c
  use mylos_errors, only: check, flag, mylos_error
  implicit none
  private
  public :: mylos_trainer, mylos_report

  ! The result of a step, the same on all ranks.
  type :: mylos_report
    integer(int64) :: step = 0     ! its number, from 1, including skipped steps
    integer(int64) :: samples = 0  ! of all ranks
    real(real64) :: loss = 0       ! mean over these samples, before the update
    real(real64) :: gradient_norm = 0
    real(real64) :: lr = 0
    real(real64) :: loss_scale = 1
    integer :: overflow_rank = -1  ! rank whose gradients were not finite, which skips the step; -1: none
    logical :: updated = .false.
  end type mylos_report

  ! A network that the program trains. All ranks of its communicator call create, step, apply, read_parameter,
  ! read_gradient, write_parameter, save, load and free together. MPI_Finalize frees it too.
  type :: mylos_trainer
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: create => trainer_create
    procedure :: free => trainer_free
    procedure :: inputs => trainer_inputs
    procedure :: outputs => trainer_outputs
    procedure :: max_samples => trainer_max_samples  ! of a rank in a step
    procedure :: apply => trainer_apply
    procedure :: read_parameter => trainer_read_parameter
    procedure :: read_gradient => trainer_read_gradient
    procedure :: write_parameter => trainer_write_parameter
    procedure :: save => trainer_save
    procedure :: load => trainer_load
    procedure, private :: step_32, step_64, step_32_labels, step_64_labels
    generic :: step => step_32, step_64, step_32_labels, step_64_labels
    procedure, private :: forward_32, forward_64, backward_32, backward_64, predict_32, predict_64
    generic :: forward => forward_32, forward_64
    generic :: backward => backward_32, backward_64
    generic :: infer => predict_32, predict_64
    final :: trainer_final
  end type mylos_trainer

contains

  ! Makes the network of a deck. `deck` is the name of a file, or with text=.true. the text of a deck.
  ! `communicator`: a type(MPI_Comm) of mpi_f08 or an integer; MPI must be running. `input_gradients`:
  ! backward can compute dx. `mean_loss`: backward's loss is the mean over all samples, and apply divides by
  ! their number.
  subroutine trainer_create(self, deck, communicator, error, text, input_gradients, mean_loss)
    class(mylos_trainer), intent(inout) :: self
    character(len=*), intent(in) :: deck
    type(*), intent(in), target :: communicator
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: text, input_gradients, mean_loss
    type(c_trainer_options) :: options
    integer(c_int), pointer :: number  ! type(MPI_Comm) has this one component
    call c_f_pointer(c_loc(communicator), number)
    options%input_gradients = flag(input_gradients)
    options%mean_loss = flag(mean_loss)
    call self%free()
    call check(c_trainer_open(mylos_abi, trim(deck) // c_null_char, flag(text), int(number, c_int32_t), options, &
                              self%handle), error)
  end subroutine trainer_create

  subroutine trainer_free(self)
    class(mylos_trainer), intent(inout) :: self
    integer(c_int32_t) :: status
    status = 0
    if (c_associated(self%handle)) status = c_trainer_destroy(self%handle)
    if (status /= mylos_failed) self%handle = c_null_ptr  ! else it is in use, or this is a parallel region
  end subroutine trainer_free

  subroutine trainer_final(self)
    type(mylos_trainer), intent(inout) :: self
    call self%free()
  end subroutine trainer_final

  function trainer_info_of(self) result(info)
    class(mylos_trainer), intent(in) :: self
    type(c_trainer_info) :: info
    if (c_trainer_get_info(self%handle, info) /= 0) info = c_trainer_info()
  end function trainer_info_of

  integer function trainer_inputs(self)
    class(mylos_trainer), intent(in) :: self
    type(c_trainer_info) :: info
    info = trainer_info_of(self)
    trainer_inputs = int(info%inputs)
  end function trainer_inputs

  integer function trainer_outputs(self)
    class(mylos_trainer), intent(in) :: self
    type(c_trainer_info) :: info
    info = trainer_info_of(self)
    trainer_outputs = int(info%outputs)
  end function trainer_outputs

  integer function trainer_max_samples(self)
    class(mylos_trainer), intent(in) :: self
    type(c_trainer_info) :: info
    info = trainer_info_of(self)
    trainer_max_samples = int(info%max_samples)
  end function trainer_max_samples

  subroutine give(from, to)
    type(c_report), intent(in) :: from
    type(mylos_report), intent(inout), optional :: to
    if (.not. present(to)) return
    to%step = from%step
    to%samples = from%samples
    to%loss = from%loss
    to%gradient_norm = from%gradient_norm
    to%lr = from%lr
    to%loss_scale = from%loss_scale
    to%overflow_rank = int(from%overflow_rank)
    to%updated = from%updated /= 0
  end subroutine give

  ! step(x, targets, error, report, columns_first): trains one step with this rank's samples, which may be
  ! none. Integer targets are the class of each sample.

  subroutine step_32(self, x, targets, error, report, columns_first)
    class(mylos_trainer), intent(inout) :: self
    real(real32), intent(in), target :: x(..), targets(..)
    type(mylos_error), intent(inout), optional :: error
    type(mylos_report), intent(inout), optional :: report
    logical, intent(in), optional :: columns_first
    type(c_report) :: found
    call check(c_trainer_step(self%handle, described(x, columns_first), described(targets, columns_first), found), error)
    call give(found, report)
  end subroutine step_32

  subroutine step_32_labels(self, x, targets, error, report, columns_first)
    class(mylos_trainer), intent(inout) :: self
    real(real32), intent(in), target :: x(..)
    integer(int32), intent(in), contiguous :: targets(:)
    type(mylos_error), intent(inout), optional :: error
    type(mylos_report), intent(inout), optional :: report
    logical, intent(in), optional :: columns_first
    type(c_report) :: found
    call check(c_trainer_step_labels(self%handle, described(x, columns_first), targets, found), error)
    call give(found, report)
  end subroutine step_32_labels

  subroutine step_64(self, x, targets, error, report, columns_first)
    class(mylos_trainer), intent(inout) :: self
    real(real64), intent(in), target :: x(..), targets(..)
    type(mylos_error), intent(inout), optional :: error
    type(mylos_report), intent(inout), optional :: report
    logical, intent(in), optional :: columns_first
    type(c_report) :: found
    call check(c_trainer_step(self%handle, described(x, columns_first), described(targets, columns_first), found), error)
    call give(found, report)
  end subroutine step_64

  subroutine step_64_labels(self, x, targets, error, report, columns_first)
    class(mylos_trainer), intent(inout) :: self
    real(real64), intent(in), target :: x(..)
    integer(int32), intent(in), contiguous :: targets(:)
    type(mylos_error), intent(inout), optional :: error
    type(mylos_report), intent(inout), optional :: report
    logical, intent(in), optional :: columns_first
    type(c_report) :: found
    call check(c_trainer_step_labels(self%handle, described(x, columns_first), targets, found), error)
    call give(found, report)
  end subroutine step_64_labels

  ! The three parts of a step with the program's own loss: forward computes the outputs y of x; backward reads
  ! dy = dL/dy and writes dL/dx to dx; after any number of such pairs, all ranks call apply.

  subroutine forward_32(self, x, y, error, columns_first)
    class(mylos_trainer), intent(inout) :: self
    real(real32), intent(in), target :: x(..)
    real(real32), intent(inout), target :: y(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first
    call check(c_trainer_forward(self%handle, described(x, columns_first), described(y, columns_first)), error)
  end subroutine forward_32

  subroutine backward_32(self, dy, dx, error, columns_first)
    class(mylos_trainer), intent(inout) :: self
    real(real32), intent(in), target :: dy(..)
    real(real32), intent(inout), target, optional :: dx(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first
    if (present(dx)) then
      call check(c_trainer_backward(self%handle, described(dy, columns_first), described(dx, columns_first)), error)
    else
      call check(c_trainer_backward(self%handle, described(dy, columns_first)), error)
    end if
  end subroutine backward_32

  ! infer(x, y, error, columns_first): predictions of the network as it is.
  subroutine predict_32(self, x, y, error, columns_first)
    class(mylos_trainer), intent(inout) :: self
    real(real32), intent(in), target :: x(..)
    real(real32), intent(inout), target :: y(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first
    call check(c_trainer_infer(self%handle, described(x, columns_first), described(y, columns_first)), error)
  end subroutine predict_32

  subroutine forward_64(self, x, y, error, columns_first)
    class(mylos_trainer), intent(inout) :: self
    real(real64), intent(in), target :: x(..)
    real(real64), intent(inout), target :: y(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first
    call check(c_trainer_forward(self%handle, described(x, columns_first), described(y, columns_first)), error)
  end subroutine forward_64

  subroutine backward_64(self, dy, dx, error, columns_first)
    class(mylos_trainer), intent(inout) :: self
    real(real64), intent(in), target :: dy(..)
    real(real64), intent(inout), target, optional :: dx(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first
    if (present(dx)) then
      call check(c_trainer_backward(self%handle, described(dy, columns_first), described(dx, columns_first)), error)
    else
      call check(c_trainer_backward(self%handle, described(dy, columns_first)), error)
    end if
  end subroutine backward_64

  ! infer(x, y, error, columns_first): predictions of the network as it is.
  subroutine predict_64(self, x, y, error, columns_first)
    class(mylos_trainer), intent(inout) :: self
    real(real64), intent(in), target :: x(..)
    real(real64), intent(inout), target :: y(..)
    type(mylos_error), intent(inout), optional :: error
    logical, intent(in), optional :: columns_first
    call check(c_trainer_infer(self%handle, described(x, columns_first), described(y, columns_first)), error)
  end subroutine predict_64

  ! Updates the weights or skips the step on all ranks. `lr`: the learning rate of this step, instead of that
  ! of the deck's learning-rate schedule. `loss`: this rank's part of the loss, which is only reported.
  subroutine trainer_apply(self, error, lr, loss, report)
    class(mylos_trainer), intent(inout) :: self
    type(mylos_error), intent(inout), optional :: error
    real(real64), intent(in), optional :: lr, loss
    type(mylos_report), intent(inout), optional :: report
    type(c_apply_options) :: options
    type(c_report) :: found
    if (present(lr)) then
      options%has_lr = 1
      options%lr = lr
    end if
    if (present(loss)) then
      options%has_loss = 1
      options%loss = loss
    end if
    call check(c_trainer_apply(self%handle, options, found), error)
    call give(found, report)
  end subroutine trainer_apply

  ! Weights by their name in a checkpoint ("head/weight"), row by row. Every rank receives all values on
  ! reading; rank 0's are used on writing.
  subroutine trainer_read_parameter(self, name, values, error)
    class(mylos_trainer), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real32), intent(inout), contiguous :: values(:)
    type(mylos_error), intent(inout), optional :: error
    call check(c_trainer_read_parameter(self%handle, trim(name) // c_null_char, values, size(values, kind=c_int64_t)), &
               error)
  end subroutine trainer_read_parameter

  ! Reads the gradient with respect to a parameter, summed over all ranks. Call it between backward and apply,
  ! for a program with its own optimizer.
  subroutine trainer_read_gradient(self, name, values, error)
    class(mylos_trainer), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real32), intent(inout), contiguous :: values(:)
    type(mylos_error), intent(inout), optional :: error
    call check(c_trainer_read_gradient(self%handle, trim(name) // c_null_char, values, size(values, kind=c_int64_t)), &
               error)
  end subroutine trainer_read_gradient

  subroutine trainer_write_parameter(self, name, values, error)
    class(mylos_trainer), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real32), intent(in), contiguous :: values(:)
    type(mylos_error), intent(inout), optional :: error
    call check(c_trainer_write_parameter(self%handle, trim(name) // c_null_char, values, size(values, kind=c_int64_t)), &
               error)
  end subroutine trainer_write_parameter

  subroutine trainer_save(self, path, error)
    class(mylos_trainer), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(mylos_error), intent(inout), optional :: error
    call check(c_trainer_save(self%handle, trim(path) // c_null_char), error)
  end subroutine trainer_save

  subroutine trainer_load(self, path, error)
    class(mylos_trainer), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(mylos_error), intent(inout), optional :: error
    call check(c_trainer_load(self%handle, trim(path) // c_null_char), error)
  end subroutine trainer_load
end module mylos_trainers
