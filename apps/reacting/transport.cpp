#include "transport.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mylos/base/errors/deck.hpp"
#include "mylos/mylos.hpp"

namespace reacting {

namespace {

using Faces = Kokkos::View<double**, Kokkos::LayoutRight>;

/// Writes keep * old + (1 - keep) * (from + dt * d from / dt) to `to`, which may be `old`.
void euler(const Grid& grid, const Faces& u, const Faces& v, double diffusivity, double dt, double keep,
           const Fields& old, const Fields& from, const Fields& to) {
  const double courant = dt / grid.spacing;
  const double exchange = diffusivity / grid.spacing;
  const int rows = grid.rows;
  const int columns = grid.columns;
  using Team = Kokkos::TeamPolicy<>::member_type;
  Kokkos::parallel_for(
      "transport", Kokkos::TeamPolicy<>(fields_of_cell * rows, Kokkos::AUTO),
      KOKKOS_LAMBDA(const Team& team) {
        const int field = team.league_rank() / rows;
        const int row = team.league_rank() % rows + 1;
        Kokkos::parallel_for(Kokkos::TeamVectorRange(team, 1, columns + 1), [&](int column) {
          const double here = from(field, row, column);
          const double west = from(field, row, column - 1);
          const double east = from(field, row, column + 1);
          const double south = from(field, row - 1, column);
          const double north = from(field, row + 1, column);
          const double in_west = u(row - 1, column - 1) * 0.5 * (west + here) - exchange * (here - west);
          const double out_east = u(row - 1, column) * 0.5 * (here + east) - exchange * (east - here);
          const double in_south = v(row - 1, column - 1) * 0.5 * (south + here) - exchange * (here - south);
          const double out_north = v(row, column - 1) * 0.5 * (here + north) - exchange * (north - here);
          const double moved = here + courant * ((in_west - out_east) + (in_south - out_north));
          to(field, row, column) = keep * old(field, row, column) + (1 - keep) * moved;
        });
      });
}

}  // namespace

Transport::Transport(const Grid& grid, const std::function<double(double, double)>& stream,
                     double diffusivity)
    : grid_(grid), halo_(grid), diffusivity_(diffusivity), stage_(make_fields(grid, "stage")) {
  const auto rows = static_cast<std::size_t>(grid.rows);
  const auto columns = static_cast<std::size_t>(grid.columns);
  u_ = Faces("u", rows, columns + 1);
  v_ = Faces("v", rows + 1, columns);
  const auto u = Kokkos::create_mirror_view(u_);
  const auto v = Kokkos::create_mirror_view(v_);
  const double spacing = grid.spacing;
  const auto corner = [&](std::size_t row, std::size_t column) {
    return stream((grid.first_column + static_cast<double>(column)) * spacing,
                  (grid.first_row + static_cast<double>(row)) * spacing);
  };
  double fastest = 0;
  for (std::size_t row = 0; row <= rows; ++row) {
    for (std::size_t column = 0; column <= columns; ++column) {
      if (row < rows) u(row, column) = (corner(row + 1, column) - corner(row, column)) / spacing;
      if (column < columns) v(row, column) = (corner(row, column) - corner(row, column + 1)) / spacing;
      if (row < rows) fastest = std::max(fastest, std::abs(u(row, column)));
      if (column < columns) fastest = std::max(fastest, std::abs(v(row, column)));
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &fastest, 1, MPI_DOUBLE, MPI_MAX, grid.ranks);
  if (diffusivity * 2 < fastest * spacing) {
    mylos::fail_input(
        mylos::errors::bad_value,
        "diffusivity = {}: fields would leave their range on this grid; it must be at least {:.3g} "
        "(speed * spacing / 2), or cells at least {}",
        diffusivity, fastest * spacing / 2, std::ceil(fastest / (2 * diffusivity)));
  }
  max_dt_ = spacing * spacing / (4 * diffusivity);
  Kokkos::deep_copy(u_, u);
  Kokkos::deep_copy(v_, v);
}

void Transport::advance(const Fields& fields, double dt) {
  halo_.exchange(fields);
  euler(grid_, u_, v_, diffusivity_, dt, 0.0, fields, fields, stage_);
  halo_.exchange(stage_);
  euler(grid_, u_, v_, diffusivity_, dt, 0.5, fields, stage_, fields);
}

std::function<double(double, double)> four_vortices(double speed) {
  return [speed](double x, double y) {
    constexpr double turn = 2 * std::numbers::pi;
    return speed / turn * std::sin(turn * x) * std::sin(turn * y);
  };
}

}  // namespace reacting
