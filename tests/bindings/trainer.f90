! trainer DECK: under MPI, by an mpi_f08 communicator and by an integer one. Own loss and step make the same weights, bit for
! bit; a checkpoint continues them. Rank 0 prints "ok".
program trainer
  use, intrinsic :: iso_fortran_env, only: error_unit, real32, real64
  use mpi_f08
  use mylos
  implicit none
  integer, parameter :: features = 6, outputs = 3, samples = 16, head = 48
  type(mylos_trainer) :: by_step, by_parts
  type(mylos_error) :: error
  type(mylos_report) :: report, own
  character(len=1000) :: deck
  real(real64) :: x(features, samples), t(outputs, samples), y(outputs, samples), dy(outputs, samples), dx(features, samples)
  real(real32) :: first(head), second(head)
  integer :: rank, ranks, step, provided

  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, deck)
  call by_step%create("nowhere.toml", MPI_COMM_WORLD, error)
  call require(error%code == 2 .and. error%id == "no-such-file", "no deck")
  call by_step%create(deck, MPI_COMM_WORLD, error)
  call require(error%code == 0, "an mpi_f08 communicator")
  call by_parts%create(deck, MPI_COMM_WORLD%mpi_val, error, input_gradients=.true., mean_loss=.true.)
  call require(error%code == 0, "an integer communicator")
  call require(by_step%inputs() == features .and. by_step%outputs() == outputs .and. by_step%max_samples() == 32, "sizes")

  do step = 1, 50
    call make_samples()
    call by_step%step(x, t, error, report)
    call require(error%code == 0 .and. report%step == step .and. report%samples == ranks * samples, "step")
    call by_parts%forward(x, y, error)
    call require(error%code == 0, "forward")
    dy = real(1 / real(outputs, real32) * (2 * (real(y, real32) - real(t, real32))), real64)
    call by_parts%backward(dy, dx, error)
    call require(error%code == 0, "backward")
    call by_parts%read_gradient("head/weight", first, error)
    call require(error%code == 0 .and. any(first /= 0), "read_gradient")
    call by_parts%apply(error, report=own)
    call require(error%code == 0 .and. (own%updated .eqv. report%updated), "apply")
  end do
  call require_same_weights("own loss")

  call by_step%save("fortran.h5", error)
  call require(error%code == 0, "save")
  call by_parts%load("fortran.h5", error)
  call require(error%code == 0, "load")
  call by_step%step(transpose(x), transpose(t), error, columns_first=.true.)
  call by_parts%step(x, t, error)
  call require_same_weights("after a checkpoint, columns first")
  call by_step%step(x(2:, :), t, error)
  call require(error%code == 2, "wrong features")
  call by_step%infer(x, y, error)
  call require(error%code == 0 .and. all(abs(y) < 100), "infer")
  call by_step%free()
  call MPI_Finalize()
  call by_parts%infer(x, y, error)
  call require(error%code == 1 .and. error%id == "bad-call", "after MPI_Finalize")
  if (rank == 0) print "(a)", "ok"

contains

  subroutine make_samples()
    integer :: i, j
    do i = 1, samples
      do j = 1, features
        x(j, i) = sin(real(100 * rank + 10 * step + 7 * i + 3 * j, real64))
      end do
      t(:, i) = x(1:outputs, i) * x(2:outputs + 1, i)
    end do
  end subroutine make_samples

  subroutine require_same_weights(what)
    character(len=*), intent(in) :: what
    call by_step%read_parameter("head/weight", first, error)
    call by_parts%read_parameter("head/weight", second, error)
    call require(error%code == 0 .and. all(first == second), what)
  end subroutine require_same_weights

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    write (error_unit, "(a)") what
    if (allocated(error%message)) write (error_unit, "(a)") error%id // ": " // error%message
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine require
end program trainer
