! Writes samples of the closed form to table.csv, on which `mylos` trains the network.
program table
  use, intrinsic :: iso_fortran_env, only: real64
  use formula, only: saturation, formula_rates
  implicit none
  integer, parameter :: samples = 30000
  ! M. Roberts, "The unreasonable effectiveness of quasirandom sequences", 2018: the root of g**5 = g + 1.
  real(real64), parameter :: g = 1.1673039782614187_real64
  real(real64), parameter :: steps(4) = [1 / g, 1 / g**2, 1 / g**3, 1 / g**4]
  real(real64) :: x(4), u(4), rates(2)
  integer :: i, file

  open (newunit=file, file="table.csv", status="replace", action="write")
  write (file, "(a)") "temperature,vapour,cloud,pressure,condensation,rain"
  do i = 1, samples
    u = modulo(i * steps, 1.0_real64)
    x(4) = 600 + 400 * u(1)
    x(1) = 300 - 0.1_real64 * (1000 - x(4)) + 20 * (u(2) - 0.5_real64)  ! around 300 K below and 260 K above
    x(2) = max(saturation(x(1), x(4)) - 3 + 4.5_real64 * u(3), 0.0_real64)
    x(3) = 1.5_real64 * u(4)**2
    call formula_rates(1, x, rates)
    write (file, "(*(es16.8, :, ','))") x, rates
  end do
  close (file)
end program table
