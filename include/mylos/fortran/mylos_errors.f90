! The start and the end of the library, and the conversion of a call's status to an error.
module mylos_errors
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int32_t, c_ptr
  use mylos_c, only: c_finalize, c_initialize, c_last_error, c_last_error_id, c_strlen, c_version, mylos_abi
  implicit none
  private
  public :: mylos_error, mylos_initialize, mylos_finalize, mylos_version
  public :: check, flag, text_of

  type :: mylos_error
    integer :: code = 0  ! 0, or an exit code of the mylos command: 2 is bad input
    character(len=:), allocatable :: id  ! the cause, as docs/reference/errors.md names it: "no-such-file"
    character(len=:), allocatable :: message
  end type mylos_error

contains

  ! Starts the library with this number of threads, before any other call. Without `threads`: OMP_NUM_THREADS
  ! if it is set, else 1 if MPI is running, else one per processor that the program may use.
  subroutine mylos_initialize(threads, error)
    integer, intent(in), optional :: threads
    type(mylos_error), intent(inout), optional :: error
    integer(c_int32_t) :: number
    number = 0
    if (present(threads)) number = int(threads, c_int32_t)
    call check(c_initialize(mylos_abi, number), error)
  end subroutine mylos_initialize

  ! Shuts down the library, as the end of the program does. No call may follow.
  subroutine mylos_finalize(error)
    type(mylos_error), intent(inout), optional :: error
    call check(c_finalize(), error)
  end subroutine mylos_finalize

  function mylos_version() result(text)
    character(len=:), allocatable :: text
    text = text_of(c_version())
  end function mylos_version

  ! Returns a failure to the caller, or ends the program.
  subroutine check(status, error)
    integer(c_int32_t), intent(in) :: status
    type(mylos_error), intent(inout), optional :: error
    character(len=:), allocatable :: failure
    if (present(error)) then
      error%code = int(status)
      error%id = ""
      error%message = ""
      if (status /= 0) then
        error%id = text_of(c_last_error_id())
        error%message = text_of(c_last_error())
      end if
    else if (status /= 0) then
      failure = "mylos: " // text_of(c_last_error()) // " [" // text_of(c_last_error_id()) // "]"
      error stop failure
    end if
  end subroutine check

  function text_of(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i, length
    length = 0
    if (c_associated(pointer)) length = int(c_strlen(pointer))
    allocate (character(len=length) :: text)
    if (length == 0) return
    call c_f_pointer(pointer, letters, [length])
    do i = 1, length
      text(i:i) = letters(i)
    end do
  end function text_of

  ! Returns a C flag: 1 if the argument is present and true.
  function flag(condition) result(number)
    logical, intent(in), optional :: condition
    integer(c_int32_t) :: number
    number = 0
    if (present(condition)) number = merge(1_c_int32_t, 0_c_int32_t, condition)
  end function flag
end module mylos_errors
