// The grid: the periodic unit square in cells x cells cells, of which each rank has a rectangle.
#pragma once

#include <mpi.h>

#include <Kokkos_Core.hpp>

namespace reacting {

/// The fields of a cell: mass fractions of Robertson's three species, and the temperature in units of the
/// reference temperature.
enum Field : int { y1, y2, y3, temperature, fields_of_cell };

/// [field, row, column] of this rank, with a ghost cell on each side: its own cells are rows 1 to rows.
using Fields = Kokkos::View<double***, Kokkos::LayoutRight>;

/// A cell of this rank: indices into Fields.
struct Cell {
  int row, column;
};

class Grid {
 public:
  /// Divides the square over the ranks of `world`. Throws mylos::Error if a rank would have no cell.
  Grid(int cells, MPI_Comm world);
  ~Grid();
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  int cells = 0;       // per side
  double spacing = 0;  // 1 / cells
  MPI_Comm ranks = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  int first_row = 0;  // of this rank, in the square
  int first_column = 0;
  int rows = 0;  // of this rank
  int columns = 0;
  int below = 0;  // neighbouring ranks: towards lower and higher rows,
  int above = 0;
  int left = 0;  // lower and higher columns
  int right = 0;

  [[nodiscard]] int own_cells() const { return rows * columns; }
};

/// Calls body(row, column) for each cell of this rank.
template <class Body>
void for_each_cell(const char* name, const Grid& grid, const Body& body) {
  using Team = Kokkos::TeamPolicy<>::member_type;
  const int columns = grid.columns;
  Kokkos::parallel_for(
      name, Kokkos::TeamPolicy<>(grid.rows, Kokkos::AUTO), KOKKOS_LAMBDA(const Team& team) {
        const int row = team.league_rank() + 1;
        Kokkos::parallel_for(Kokkos::TeamVectorRange(team, 1, columns + 1),
                             [&](int column) { body(row, column); });
      });
}

/// Fields of this rank, all 0.
Fields make_fields(const Grid& grid, const char* name);

/// The fields of all ranks: [field, row, column].
using Square = Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// All of the square's values of all fields [field, row, column] on rank 0; empty on other ranks.
Square gather(const Grid& grid, const Fields& fields);
/// The inverse: rank 0 has `square`, each rank receives its own cells.
void scatter(const Grid& grid, const Square& square, const Fields& fields);

}  // namespace reacting
