#include "simulation.hpp"

#include <cmath>
#include <limits>

#include "clock.hpp"
#include "mylos/base/errors/deck.hpp"

namespace reacting {

namespace {

Grid& check_step(Grid& grid, const Transport& transport, double dt) {
  if (dt > transport.max_dt()) {
    mylos::fail_input(mylos::errors::bad_value,
                      "dt = {}: fields would leave their range; at most {:.3g} (spacing^2 / (4 diffusivity))",
                      dt, transport.max_dt());
  }
  return grid;
}

/// Lists all cells of this rank. Not in the constructor: nvcc wants kernels in functions.
void list_cells(const Grid& grid, const Kokkos::View<Cell*>& cells) {
  const int columns = grid.columns;
  for_each_cell(
      "all cells", grid, KOKKOS_LAMBDA(int row, int column) {
        cells((row - 1) * columns + column - 1) = {row, column};
      });
}

}  // namespace

Simulation::Simulation(const Options& options, MPI_Comm ranks, bool with_surrogate)
    : grid(options.cells, ranks),
      fields(make_fields(grid, "fields")),
      kinetics(grid, options.tolerance),
      transport_(grid, four_vortices(options.speed), options.diffusivity),
      dt_(options.dt),
      all_cells_("all cells", static_cast<std::size_t>(grid.own_cells())) {
  check_step(grid, transport_, dt_);
  if (with_surrogate) surrogate = std::make_unique<Surrogate>(grid, options.surrogate);
  list_cells(grid, all_cells_);
  set_initial_state(grid, fields);
}

void Simulation::advance() {
  const double begin = now();
  transport_.advance(fields, dt_);
  const double transported = now();
  Work work;
  if (surrogate) {
    work = surrogate->react(fields, kinetics, step, dt_);
  } else {
    work.rosenbrock_steps = kinetics.integrate(fields, all_cells_, grid.own_cells(), dt_);
    work.kinetics_s = now() - transported;
  }
  ++step;
  ++totals.steps;
  totals.cells += grid.own_cells();
  totals.by_network += work.by_network;
  totals.rosenbrock_steps += work.rosenbrock_steps;
  totals.transport_s += transported - begin;
  totals.kinetics_s += work.kinetics_s;
  totals.network_s += work.network_s;
  totals.training_s += work.training_s;
  totals.seconds += now() - begin;
}

State Simulation::state() const {
  double lowest = 0;
  double highest = 0;
  double mass = 0;
  const Fields view = fields;
  Kokkos::parallel_reduce(
      "state", Kokkos::MDRangePolicy<Kokkos::Rank<3>>({0, 1, 1}, {3, grid.rows + 1, grid.columns + 1}),
      KOKKOS_LAMBDA(int species, int row, int column, double& low, double& high, double& sum) {
        const double value = view(species, row, column);
        low = value < low || value != value ? value : low;
        high = value > high || value != value ? value : high;
        sum += value;
      },
      Kokkos::Min<double>(lowest), Kokkos::Max<double>(highest), mass);
  MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_DOUBLE, MPI_MIN, grid.ranks);
  MPI_Allreduce(MPI_IN_PLACE, &highest, 1, MPI_DOUBLE, MPI_MAX, grid.ranks);
  MPI_Allreduce(MPI_IN_PLACE, &mass, 1, MPI_DOUBLE, MPI_SUM, grid.ranks);
  return {lowest, highest, mass * grid.spacing * grid.spacing};
}

void set_initial_state(const Grid& grid, const Fields& fields) {
  const auto host = Kokkos::create_mirror_view(fields);
  for (int row = 0; row < grid.rows; ++row) {
    for (int column = 0; column < grid.columns; ++column) {
      const double x = (grid.first_column + column + 0.5) * grid.spacing;
      const double y = (grid.first_row + row + 0.5) * grid.spacing;
      const auto spot = [&](double cx, double cy, double radius) {
        return std::exp(-((x - cx) * (x - cx) + (y - cy) * (y - cy)) / (radius * radius));
      };
      const double warm = spot(0.32, 0.45, 0.14);
      const double cold = spot(0.70, 0.62, 0.14);
      const double product = 0.7 * (1 - warm) * (1 - 0.8 * cold);
      host(y1, row + 1, column + 1) = 1 - product;
      host(y2, row + 1, column + 1) = 0;
      host(y3, row + 1, column + 1) = product;
      host(temperature, row + 1, column + 1) = 1 + 0.2 * warm - 0.1 * cold;
    }
  }
  Kokkos::deep_copy(fields, host);
}

}  // namespace reacting
