! What the blocks of Fortran in docs/ use and do not declare themselves.
module names
  use, intrinsic :: iso_fortran_env, only: real32
  use mylos
  implicit none
  type(mylos_model) :: closure
  real(real32) :: x(6, 10), targets(3, 10)
end module names
