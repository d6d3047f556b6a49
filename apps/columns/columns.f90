! Columns of air whose clouds a network computes, spread over ranks and threads. They are computed three times: by the closed
! form and by the network, both with Newton's method, and by the network without derivatives.
program columns
  use, intrinsic :: iso_fortran_env, only: real64, int64, error_unit
  use mpi_f08
  use omp_lib, only: omp_get_max_threads, omp_set_num_threads
  use formula, only: saturation, formula_rates, formula_slopes
  use microphysics, only: microphysics_evaluate_block, microphysics_jacobian  ! written by `mylos export`
  use options, only: choices, read_options, usage
  use solver, only: closure, column_step, step_count, newton, picard, forcing
  implicit none

  integer, parameter :: runs = 3
  character(*), parameter :: names(runs) = [character(16) :: "formula, Newton", "network, Newton", "network, Picard"]
  integer, parameter :: methods(runs) = [newton, newton, picard]
  type(closure) :: closures(runs)
  type(choices) :: chosen
  real(real64), allocatable :: pressure(:)
  integer :: rank, ranks, threads_of_mpi, run
  logical :: is_valid
  integer, allocatable :: first(:)  ! number of columns before those of each rank, and of all

  call MPI_Init_thread(MPI_THREAD_FUNNELED, threads_of_mpi)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call read_options(chosen, is_valid)
  if (.not. is_valid) then
    if (rank == 0) write (error_unit, "(a)") usage
    call MPI_Finalize()
    stop 2, quiet=.true.
  end if
  if (threads_of_mpi < MPI_THREAD_FUNNELED) error stop "columns: this MPI allows no threads"
  first = [(int(int(chosen%columns, int64) * run / ranks), run=0, ranks)]
  pressure = [(600 + 400 * (run - 0.5_real64) / chosen%layers, run=1, chosen%layers)]
  closures(1)%rates => formula_rates
  closures(1)%slopes => formula_slopes
  do run = 2, runs
    closures(run)%rates => microphysics_evaluate_block
    closures(run)%slopes => microphysics_jacobian
  end do
  if (chosen%is_timed) then
    call measure()
  else
    call compare()
  end if
  call MPI_Finalize()

contains

  ! The state of a column: warm and moist below, every column of another temperature and humidity.
  pure function first_state(column) result(state)
    integer, intent(in) :: column
    real(real64) :: state(3, size(pressure)), warmth, humidity
    integer :: k
    warmth = 6 * sin(0.37_real64 * column)
    humidity = 0.98_real64 + 0.04_real64 * cos(0.59_real64 * column)
    do k = 1, size(pressure)
      state(1, k) = 300 - 0.1_real64 * (1000 - pressure(k)) + warmth
      state(2, k) = humidity * saturation(state(1, k), pressure(k))
      state(3, k) = 0
    end do
  end function first_state

  ! Advances this rank's columns. states(:, :, 1, i): before the last step of its i-th column, states(:, :, 2, i): after it.
  subroutine compute(run, states, rain, counts)
    integer, intent(in) :: run
    real(real64), intent(out) :: states(:, :, :, :), rain(:)
    type(step_count), intent(out) :: counts(:)
    integer :: i, step
    !$omp parallel do schedule(dynamic) private(step)
    do i = 1, size(rain)
      rain(i) = 0
      counts(i) = step_count()
      states(:, :, 2, i) = first_state(first(rank + 1) + i)
      do step = 1, chosen%steps
        states(:, :, 1, i) = states(:, :, 2, i)
        call column_step(closures(run), methods(run), chosen%seconds / 3600, pressure, states(:, :, 2, i), rain(i), counts(i))
      end do
    end do
  end subroutine compute

  ! Runs all three and prints how they differ. Columns are independent and sums are taken in their order, so the numbers are
  ! the same bits on any number of ranks and threads.
  subroutine compare()
    real(real64), allocatable :: states(:, :, :, :), rain(:), all_states(:, :, :, :, :), all_rain(:)
    type(step_count), allocatable :: counts(:)
    real(real64) :: seconds(runs), water(runs), mean_rain(runs), start, differences(3, runs)
    integer :: iterations(runs), halvings(runs), own, gathered
    own = first(rank + 2) - first(rank + 1)
    gathered = merge(chosen%columns, 0, rank == 0)
    allocate (states(3, chosen%layers, 2, own), rain(own), counts(own))
    allocate (all_states(3, chosen%layers, 2, gathered, runs), all_rain(gathered))
    do run = 1, runs
      call cpu_time(start)
      call compute(run, states, rain, counts)
      call cpu_time(seconds(run))  ! of all threads
      seconds(run) = seconds(run) - start
      call gather(states, 6 * chosen%layers, all_states(:, :, :, :, run))
      call gather(rain, 1, all_rain)
      iterations(run) = sum(counts%iterations)
      halvings(run) = sum(counts%halvings)
      if (rank == 0) then
        mean_rain(run) = sum(all_rain) / chosen%columns
        water(run) = water_error(all_states(:, :, 2, :, run), all_rain)
        differences(:, run) = root_mean_square(all_states(:, :, 2, :, run) - all_states(:, :, 2, :, 1))
      end if
    end do
    call MPI_Allreduce(MPI_IN_PLACE, seconds, runs, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Allreduce(MPI_IN_PLACE, iterations, runs, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Allreduce(MPI_IN_PLACE, halvings, runs, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank /= 0) return
    associate (all_steps => real(chosen%columns, real64) * chosen%steps)
      print "(3(a, i0), a, f0.1, 2(a, i0))", "columns: ", chosen%columns, ", layers: ", chosen%layers, ", steps: ", chosen%steps, &
        " of ", chosen%seconds, " s, ranks: ", ranks, ", threads of a rank: ", omp_get_max_threads()
      print "(a42, 3a18)", "", (adjustr(names(run)), run=1, runs)
      print "(a42, 3f18.2)", "iterations of a step", iterations / all_steps
      print "(a42, 3i18)", "steps that were halved", halvings
      print "(a42, 3f18.2)", "processor time per column and step, us", 1e6_real64 * seconds / all_steps
    end associate
    print "(a42, 3es18.2)", "difference from formula: temperature, K", differences(1, :)
    print "(a42, 3es18.2)", "vapour, g/kg", differences(2, :)
    print "(a42, 3es18.2)", "cloud water, g/kg", differences(3, :)
    print "(a42, 3f18.6)", "rain of a column, sum over layers, g/kg", mean_rain
    print "(a42, 3es18.1)", "water that appeared, part of all", water
    if (allocated(chosen%file)) call write_states(all_states)
  end subroutine compare

  ! To rank 0: `extent` numbers of each column.
  subroutine gather(own, extent, all)
    real(real64), intent(in), contiguous :: own(..)
    integer, intent(in) :: extent
    real(real64), intent(inout), contiguous :: all(..)
    integer :: counts(ranks)
    counts = extent * (first(2:) - first(:ranks))
    call MPI_Gatherv(own, counts(rank + 1), MPI_DOUBLE_PRECISION, all, counts, extent * first(:ranks), MPI_DOUBLE_PRECISION, &
                     0, MPI_COMM_WORLD)
  end subroutine gather

  ! Vapour, cloud water and rain beyond what there was and what has evaporated.
  real(real64) function water_error(states, rain)
    real(real64), intent(in) :: states(:, :, :), rain(:)
    real(real64) :: state(3, chosen%layers), before
    integer :: column
    before = 0
    do column = 1, chosen%columns
      state = first_state(column)
      before = before + sum(state(2:3, :)) + forcing(2) * chosen%seconds / 3600 * chosen%steps
    end do
    water_error = (sum(states(2:3, :, :)) + sum(rain) - before) / before
  end function water_error

  ! Of each variable, over all layers and columns.
  function root_mean_square(x)
    real(real64), intent(in) :: x(:, :, :)
    real(real64) :: root_mean_square(3)
    integer :: i
    root_mean_square = [(sqrt(sum(x(i, :, :)**2) / size(x(i, :, :))), i=1, 3)]
  end function root_mean_square

  ! Doubles: of each run and column the state before and after the last step, layer by layer.
  subroutine write_states(states)
    real(real64), intent(in) :: states(:, :, :, :, :)
    integer :: file
    open (newunit=file, file=chosen%file, access="stream", form="unformatted", status="replace", action="write")
    write (file) states
    close (file)
  end subroutine write_states

  ! Prints the shortest of many times, by one thread of each rank and by all of them, interleaved: other programs disturb some
  ! of the rounds.
  subroutine measure()
    integer, parameter :: rounds = 500
    real(real64), allocatable :: states(:, :, :, :), rain(:)
    type(step_count), allocatable :: counts(:)
    real(real64) :: shortest(2), start
    integer :: threads(2), own, round, i
    threads = [1, omp_get_max_threads()]
    own = first(rank + 2) - first(rank + 1)
    allocate (states(3, chosen%layers, 2, own), rain(own), counts(own))
    if (rank == 0) print "(a42, 2(i10, a), a10)", "time per column and step, us", threads(1), " thread", &
      threads(2), " threads", "ratio"
    do run = 1, runs
      shortest = huge(shortest)
      do round = 1, rounds
        do i = 1, 2
          call omp_set_num_threads(threads(i))
          call MPI_Barrier(MPI_COMM_WORLD)
          start = MPI_Wtime()
          call compute(run, states, rain, counts)
          shortest(i) = min(shortest(i), MPI_Wtime() - start)
        end do
      end do
      call MPI_Allreduce(MPI_IN_PLACE, shortest, 2, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
      if (rank == 0) print "(a42, f17.2, f18.2, f10.2)", adjustr(names(run)), &
        1e6_real64 * shortest / (real(chosen%columns, real64) * chosen%steps), shortest(1) / shortest(2)
    end do
  end subroutine measure
end program columns
