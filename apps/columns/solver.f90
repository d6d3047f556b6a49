! Implicit Euler steps of a column: mixing of neighbouring layers, and sources that a closure computes.
!
! The equations of a step are x - before - hours * change(x) = 0. Newton's method solves them with the derivatives of the
! closure. Without derivatives, Picard iteration solves the mixing implicitly and takes the sources of the last iterate:
! this is the same correction with derivatives of 0.
module solver
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: closure, column_step, step_count, newton, picard, forcing

  abstract interface
    ! x(:, k): temperature (K), vapour, cloud water (g/kg) and pressure (hPa) of layer k. rates(:, k): condensation and
    ! rain, g/kg per hour. A network that `mylos export` wrote has this interface: NAME_evaluate_block.
    pure subroutine rates_of_layers(layers, x, rates)
      import :: real64
      integer, intent(in) :: layers
      real(real64), intent(in) :: x(4, layers)
      real(real64), intent(out) :: rates(2, layers)
    end subroutine rates_of_layers
    ! slopes(r, i) = d rates(r) / d x(i): NAME_jacobian.
    pure subroutine slopes_of_layer(x, slopes)
      import :: real64
      real(real64), intent(in) :: x(4)
      real(real64), intent(out) :: slopes(2, 4)
    end subroutine slopes_of_layer
  end interface

  type :: closure
    procedure(rates_of_layers), pointer, nopass :: rates
    procedure(slopes_of_layer), pointer, nopass :: slopes
  end type closure

  ! What the steps of a column have taken.
  type :: step_count
    integer :: iterations = 0
    integer :: halvings = 0  ! of steps that did not converge
  end type step_count

  integer, parameter :: newton = 1, picard = 2
  integer, parameter :: max_iterations(2) = [12, 100]
  integer, parameter :: max_halvings = 10
  real(real64), parameter :: tolerance = 1e-10_real64  ! of the equations, in K and g/kg
  real(real64), parameter :: mixing = 1.0_real64       ! exchanges with each neighbour per hour
  real(real64), parameter :: heating = 2.49_real64     ! K for each g/kg that condenses
  ! Changes of temperature, vapour and cloud water by condensation and rain.
  real(real64), parameter :: effects(3, 2) = reshape([heating, -1.0_real64, 1.0_real64, 0.0_real64, 0.0_real64, -1.0_real64], &
                                                     [3, 2])
  ! Per hour: cooling of all layers, evaporation into the lowest.
  real(real64), parameter :: forcing(2) = [-0.5_real64, 2.0_real64]

contains

  ! Advances the state (temperature, vapour, cloud water of each layer, from above) by `hours`, and adds to the rain of the
  ! layers. Steps that do not converge are halved.
  pure recursive subroutine column_step(by, method, hours, pressure, state, rain, counts)
    type(closure), intent(in) :: by
    integer, intent(in) :: method
    real(real64), intent(in) :: hours, pressure(:)
    real(real64), intent(inout) :: state(:, :), rain
    type(step_count), intent(inout) :: counts
    call part_of_step(by, method, hours, pressure, state, rain, counts, 0)
  end subroutine column_step

  pure recursive subroutine part_of_step(by, method, hours, pressure, state, rain, counts, depth)
    type(closure), intent(in) :: by
    integer, intent(in) :: method, depth
    real(real64), intent(in) :: hours, pressure(:)
    real(real64), intent(inout) :: state(:, :), rain
    type(step_count), intent(inout) :: counts
    real(real64) :: x(4, size(pressure)), rates(2, size(pressure))
    logical :: has_converged
    x(1:3, :) = state
    x(4, :) = pressure
    call iterate(by, method, hours, state, x, rates, counts%iterations, has_converged)
    if (has_converged) then
      state = x(1:3, :)
      rain = rain + hours * sum(rates(2, :))
    else if (depth == max_halvings) then
      error stop "columns: a step did not converge"
    else
      counts%halvings = counts%halvings + 1
      call part_of_step(by, method, hours / 2, pressure, state, rain, counts, depth + 1)
      call part_of_step(by, method, hours / 2, pressure, state, rain, counts, depth + 1)
    end if
  end subroutine part_of_step

  pure recursive subroutine iterate(by, method, hours, before, x, rates, iterations, has_converged)
    type(closure), intent(in) :: by
    integer, intent(in) :: method
    real(real64), intent(in) :: hours, before(:, :)
    real(real64), intent(inout) :: x(:, :), rates(:, :)
    integer, intent(inout) :: iterations
    logical, intent(out) :: has_converged
    real(real64) :: rest(3, size(x, 2)), slopes(2, 4, size(x, 2)), largest
    integer :: layers, iteration, k
    layers = size(x, 2)
    slopes = 0
    has_converged = .false.
    do iteration = 1, max_iterations(method)
      call by%rates(layers, x, rates)
      rest = x(1:3, :) - before - hours * change(x(1:3, :), rates)
      largest = maxval(abs(rest))
      has_converged = largest < tolerance
      if (has_converged .or. .not. largest < 1e3_real64) return
      if (method == newton) then
        do k = 1, layers
          call by%slopes(x(:, k), slopes(:, :, k))
        end do
      end if
      call correct(hours, slopes, rest, x)
      iterations = iterations + 1
    end do
  end subroutine iterate

  ! Per hour.
  pure function change(state, rates)
    real(real64), intent(in) :: state(:, :), rates(:, :)
    real(real64) :: change(3, size(state, 2))
    integer :: layers, k
    layers = size(state, 2)
    do k = 1, layers
      change(:, k) = effects(:, 1) * rates(1, k) + effects(:, 2) * rates(2, k)
      change(1, k) = change(1, k) + forcing(1)
      if (k > 1) change(:, k) = change(:, k) + mixing * (state(:, k - 1) - state(:, k))
      if (k < layers) change(:, k) = change(:, k) + mixing * (state(:, k + 1) - state(:, k))
    end do
    change(2, layers) = change(2, layers) + forcing(2)
  end function change

  ! Subtracts from x the solution of the equations' derivative * correction = rest. The derivative has 3 x 3 blocks on three
  ! diagonals; those beside the main one are -hours * mixing * identity.
  pure recursive subroutine correct(hours, slopes, rest, x)
    real(real64), intent(in) :: hours, slopes(:, :, :), rest(:, :)
    real(real64), intent(inout) :: x(:, :)
    real(real64) :: inverse(3, 3, size(rest, 2)), part(3, size(rest, 2)), block(3, 3), beside
    integer :: layers, k, i
    layers = size(rest, 2)
    beside = hours * mixing
    do k = 1, layers
      block = -hours * matmul(effects, slopes(:, 1:3, k))
      do i = 1, 3
        block(i, i) = block(i, i) + 1 + beside * count([k > 1, k < layers])
      end do
      part(:, k) = rest(:, k)
      if (k > 1) then
        block = block - beside**2 * inverse(:, :, k - 1)
        part(:, k) = part(:, k) + beside * part(:, k - 1)
      end if
      inverse(:, :, k) = inverse_of(block)
      part(:, k) = matmul(inverse(:, :, k), part(:, k))
    end do
    x(1:3, layers) = x(1:3, layers) - part(:, layers)
    do k = layers - 1, 1, -1
      part(:, k) = part(:, k) + beside * matmul(inverse(:, :, k), part(:, k + 1))
      x(1:3, k) = x(1:3, k) - part(:, k)
    end do
  end subroutine correct

  pure function inverse_of(a) result(inverse)
    real(real64), intent(in) :: a(3, 3)
    real(real64) :: inverse(3, 3)
    inverse(:, 1) = cross(a(2, :), a(3, :))
    inverse(:, 2) = cross(a(3, :), a(1, :))
    inverse(:, 3) = cross(a(1, :), a(2, :))
    inverse = inverse / dot_product(a(1, :), inverse(:, 1))
  end function inverse_of

  pure function cross(a, b)
    real(real64), intent(in) :: a(3), b(3)
    real(real64) :: cross(3)
    cross = [a(2) * b(3) - a(3) * b(2), a(3) * b(1) - a(1) * b(3), a(1) * b(2) - a(2) * b(1)]
  end function cross
end module solver
