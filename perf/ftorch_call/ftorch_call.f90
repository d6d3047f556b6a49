! A call of a TorchScript model by FTorch, on the commands of call_bench.
!
!   ftorch_call MODEL.pt INPUTS FEATURES OUTPUTS
!
! INPUTS: float [samples, FEATURES] in binary. Tensors are made once over the arrays, whose memory has the order that
! PyTorch has: a call is the model's forward pass alone.
program ftorch_call
  use, intrinsic :: iso_fortran_env, only: real32, real64, int64
  use ftorch, only: torch_model, torch_tensor, torch_kCPU, torch_model_load, torch_model_forward, torch_tensor_from_array
  implicit none

  integer, parameter :: min_calls = 4  ! call_bench's
  real(real64), parameter :: measurement_ms = 20
  type(torch_model) :: model
  type(torch_tensor) :: input(1), output(1)
  real(real32), allocatable, target :: x(:), y(:)
  real(real32), pointer, contiguous :: x_rows(:, :), y_rows(:, :)
  character(1024) :: command, line, rest
  integer :: features, outputs, samples, rows, count, status, bytes

  call get_command_argument(3, rest)
  read (rest, *) features
  call get_command_argument(4, rest)
  read (rest, *) outputs
  call get_command_argument(2, rest)
  inquire (file=trim(rest), size=bytes)
  rows = bytes/(4*features)
  allocate (x(features*rows), y(outputs*rows))
  open (10, file=trim(rest), access="stream", form="unformatted", status="old")
  read (10) x
  close (10)
  call get_command_argument(1, rest)
  call torch_model_load(model, trim(rest), torch_kCPU)

  do
    read (*, "(a)", iostat=status) line
    if (status /= 0) exit
    read (line, *) command, samples
    rest = line(index(trim(line), " ", back=.true.) + 1:)  ! not list-directed, where a slash ends the input
    if (samples < 1 .or. samples > rows) error stop "ftorch_call: no such number of samples"
    ! The last dimension is contiguous (layout [2, 1]), as PyTorch wants it.
    x_rows(1:samples, 1:features) => x(1:samples*features)
    y_rows(1:samples, 1:outputs) => y(1:samples*outputs)
    call torch_tensor_from_array(input(1), x_rows, [2, 1], torch_kCPU)
    call torch_tensor_from_array(output(1), y_rows, [2, 1], torch_kCPU)
    if (command == "step") then
      read (rest, *) count
      write (*, "(f0.6,/)") median_of_calls(count)
    else
      call torch_model_forward(model, input, output)
      open (10, file=trim(rest), access="stream", form="unformatted", status="replace")
      write (10) y(1:samples*outputs)
      close (10)
      write (*, "()")
    end if
    flush (6)
  end do

contains

  real(real64) function milliseconds_since(start)
    integer(int64), intent(in) :: start
    integer(int64) :: now, rate
    call system_clock(now, rate)
    milliseconds_since = 1e3_real64*real(now - start, real64)/real(rate, real64)
  end function

  !> The ms of a call: the median of `count` measurements.
  real(real64) function median_of_calls(count)
    integer, intent(in) :: count
    real(real64) :: times(count), time
    integer(int64) :: start
    integer :: i, calls
    do i = 1, 2
      call torch_model_forward(model, input, output)
    end do
    do i = 1, count
      call system_clock(start)
      calls = 0
      do while (calls < min_calls .or. milliseconds_since(start) < measurement_ms)
        call torch_model_forward(model, input, output)
        calls = calls + 1
      end do
      times(i) = milliseconds_since(start)/calls
    end do
    do while (any(times(2:) < times(:count - 1)))
      do i = 2, count
        if (times(i) < times(i - 1)) then
          time = times(i)
          times(i) = times(i - 1)
          times(i - 1) = time
        end if
      end do
    end do
    median_of_calls = times(count/2 + 1)
  end function
end program
