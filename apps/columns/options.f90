! The command line of the column model.
module options
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: choices, read_options, usage

  character(*), parameter :: usage = &
    "usage: columns [--columns N] [--layers N] [--steps N] [--seconds LENGTH] [--write FILE] | columns --time [...]"

  type :: choices
    integer :: columns = 200, layers = 40, steps = 24
    real(real64) :: seconds = 240  ! of a step
    character(:), allocatable :: file
    logical :: is_timed = .false.
  end type choices

contains

  ! is_valid: whether the command line is right.
  subroutine read_options(chosen, is_valid)
    type(choices), intent(out) :: chosen
    logical, intent(out) :: is_valid
    character(:), allocatable :: name, value
    integer :: i, status
    i = 1
    is_valid = .false.
    do while (i <= command_argument_count())
      name = argument(i)
      i = i + 1
      if (name == "--time") then
        chosen = choices(columns=32, layers=10, steps=1, is_timed=.true.)  ! about a millisecond
        cycle
      end if
      value = argument(i)
      i = i + 1
      status = merge(0, 1, len(value) > 0)
      select case (name)
      case ("--columns")
        read (value, *, iostat=status) chosen%columns
      case ("--layers")
        read (value, *, iostat=status) chosen%layers
      case ("--steps")
        read (value, *, iostat=status) chosen%steps
      case ("--seconds")
        read (value, *, iostat=status) chosen%seconds
      case ("--write")
        chosen%file = value
      case default
        status = 1
      end select
      if (status /= 0) return
    end do
    is_valid = chosen%columns >= 1 .and. chosen%layers >= 2 .and. chosen%steps >= 1 .and. chosen%seconds > 0
  end subroutine read_options

  function argument(i) result(text)
    integer, intent(in) :: i
    character(:), allocatable :: text
    integer :: length
    length = 0
    if (i <= command_argument_count()) call get_command_argument(i, length=length)
    allocate (character(length) :: text)
    if (length > 0) call get_command_argument(i, text)
  end function argument
end module options
