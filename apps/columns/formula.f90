! The closed form that the network learns: condensation of vapour, and rain out of the cloud.
!
! A layer is temperature in K, vapour and cloud water in g/kg, and pressure in hPa. Its rates are condensation and rain,
! in g/kg per hour.
module formula
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: saturation, formula_rates, formula_slopes

  real(real64), parameter :: condensation_hours = 1.0_real64 / 3  ! to condense what exceeds saturation
  real(real64), parameter :: width = 0.5_real64      ! g/kg: parts of a layer are moister than its mean
  real(real64), parameter :: rain_hours = 0.5_real64
  real(real64), parameter :: threshold = 0.5_real64  ! g/kg of cloud water, from which on it rains

contains

  ! Vapour at saturation: D. Bolton, "The Computation of Equivalent Potential Temperature", 1980, equation 10.
  pure function saturation(temperature, pressure) result(vapour)
    real(real64), intent(in) :: temperature, pressure
    real(real64) :: vapour
    vapour = 622 * 6.112_real64 * exp(17.67_real64 * (temperature - 273.15_real64) / (temperature - 29.65_real64)) / pressure
  end function saturation

  pure subroutine formula_rates(layers, x, rates)
    integer, intent(in) :: layers
    real(real64), intent(in) :: x(4, layers)
    real(real64), intent(out) :: rates(2, layers)
    real(real64) :: excess
    integer :: k
    do k = 1, layers
      excess = (x(2, k) - saturation(x(1, k), x(4, k))) / width
      rates(1, k) = width * (max(excess, 0.0_real64) + log(1 + exp(-abs(excess)))) / condensation_hours
      ! H. Sundqvist, "A parameterization scheme for non-convective condensation", 1978.
      rates(2, k) = x(3, k) * (1 - exp(-(x(3, k) / threshold)**2)) / rain_hours
    end do
  end subroutine formula_rates

  ! slopes(r, i) = d rates(r) / d x(i).
  pure subroutine formula_slopes(x, slopes)
    real(real64), intent(in) :: x(4)
    real(real64), intent(out) :: slopes(2, 4)
    real(real64) :: vapour, part, ratio
    vapour = saturation(x(1), x(4))
    part = 1 / (1 + exp((vapour - x(2)) / width)) / condensation_hours
    ratio = (x(3) / threshold)**2
    slopes = 0
    slopes(1, 1) = -part * vapour * 17.67_real64 * (273.15_real64 - 29.65_real64) / (x(1) - 29.65_real64)**2
    slopes(1, 2) = part
    slopes(1, 4) = part * vapour / x(4)
    slopes(2, 3) = (1 - exp(-ratio) * (1 - 2 * ratio)) / rain_hours
  end subroutine formula_slopes
end module formula
