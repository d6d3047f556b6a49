#include "grid.hpp"

#include <algorithm>
#include <vector>

#include "mylos/base/errors/deck.hpp"
#include "mylos/mylos.hpp"

namespace reacting {

namespace {

struct Part {
  int first_row, first_column, rows, columns;
  [[nodiscard]] std::size_t cells() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
};

int first_of(int part, int parts, int cells) {
  return static_cast<int>(static_cast<long>(part) * cells / parts);
}

/// Each rank's rectangle, on all ranks.
std::vector<Part> parts_of(const Grid& grid) {
  const Part own{grid.first_row, grid.first_column, grid.rows, grid.columns};
  std::vector<Part> parts(static_cast<std::size_t>(grid.size));
  MPI_Allgather(&own, 4, MPI_INT, parts.data(), 4, MPI_INT, grid.ranks);
  return parts;
}

/// Calls visit(value of the part, value of the square) for each field and cell of a part.
template <class Visit>
void for_each_value(const Part& part, std::vector<double>& values, const Square& square, const Visit& visit) {
  std::size_t next = 0;
  for (int field = 0; field < static_cast<int>(square.extent(0)); ++field) {
    for (int row = 0; row < part.rows; ++row) {
      for (int column = 0; column < part.columns; ++column) {
        visit(values[next++], square(field, part.first_row + row, part.first_column + column));
      }
    }
  }
}

}  // namespace

Grid::Grid(int cells_per_side, MPI_Comm world) : cells(cells_per_side), spacing(1.0 / cells_per_side) {
  MPI_Comm_size(world, &size);
  int parts[2] = {0, 0};
  MPI_Dims_create(size, 2, parts);
  if (cells < parts[0]) {
    mylos::fail_input(mylos::errors::bad_value,
                      "cells = {}, but {} ranks divide the square into {} parts per side: use fewer ranks",
                      cells, size, parts[0]);
  }
  const int periodic[2] = {1, 1};
  MPI_Cart_create(world, 2, parts, periodic, 0, &ranks);
  MPI_Comm_rank(ranks, &rank);
  int coordinates[2] = {0, 0};
  MPI_Cart_coords(ranks, rank, 2, coordinates);
  first_row = first_of(coordinates[0], parts[0], cells);
  first_column = first_of(coordinates[1], parts[1], cells);
  rows = first_of(coordinates[0] + 1, parts[0], cells) - first_row;
  columns = first_of(coordinates[1] + 1, parts[1], cells) - first_column;
  MPI_Cart_shift(ranks, 0, 1, &below, &above);
  MPI_Cart_shift(ranks, 1, 1, &left, &right);
}

Grid::~Grid() {
  MPI_Comm_free(&ranks);
}

Fields make_fields(const Grid& grid, const char* name) {
  return Fields(name, fields_of_cell, static_cast<std::size_t>(grid.rows) + 2,
                static_cast<std::size_t>(grid.columns) + 2);
}

Square gather(const Grid& grid, const Fields& fields) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), fields);
  const Square own("own", fields.extent(0), fields.extent(1) - 2, fields.extent(2) - 2);
  for (std::size_t field = 0; field < own.extent(0); ++field) {
    for (std::size_t row = 0; row < own.extent(1); ++row) {
      for (std::size_t column = 0; column < own.extent(2); ++column) {
        own(field, row, column) = host(field, row + 1, column + 1);
      }
    }
  }
  const std::vector<Part> parts = parts_of(grid);
  if (grid.rank != 0) {
    MPI_Send(own.data(), static_cast<int>(own.size()), MPI_DOUBLE, 0, 0, grid.ranks);
    return {};
  }
  const auto side = static_cast<std::size_t>(grid.cells);
  const Square square("square", fields.extent(0), side, side);
  for (int source = 0; source < grid.size; ++source) {
    const Part& part = parts[static_cast<std::size_t>(source)];
    std::vector<double> values(part.cells() * fields.extent(0));
    if (source == 0) {
      std::copy_n(own.data(), values.size(), values.data());
    } else {
      MPI_Recv(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, source, 0, grid.ranks,
               MPI_STATUS_IGNORE);
    }
    for_each_value(part, values, square, [](double& value, double& cell) { cell = value; });
  }
  return square;
}

void scatter(const Grid& grid, const Square& square, const Fields& fields) {
  const std::vector<Part> parts = parts_of(grid);
  std::vector<double> own(static_cast<std::size_t>(grid.own_cells()) * fields.extent(0));
  if (grid.rank == 0) {
    for (int target = grid.size - 1; target >= 0; --target) {  // its own part last
      const Part& part = parts[static_cast<std::size_t>(target)];
      std::vector<double> values(part.cells() * fields.extent(0));
      for_each_value(part, values, square, [](double& value, double& cell) { value = cell; });
      if (target == 0) {
        own = values;
      } else {
        MPI_Send(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, target, 0, grid.ranks);
      }
    }
  } else {
    MPI_Recv(own.data(), static_cast<int>(own.size()), MPI_DOUBLE, 0, 0, grid.ranks, MPI_STATUS_IGNORE);
  }
  const auto host = Kokkos::create_mirror_view(fields);
  std::size_t next = 0;
  for (std::size_t field = 0; field < fields.extent(0); ++field) {
    for (std::size_t row = 1; row + 1 < fields.extent(1); ++row) {
      for (std::size_t column = 1; column + 1 < fields.extent(2); ++column) {
        host(field, row, column) = own[next++];
      }
    }
  }
  Kokkos::deep_copy(fields, host);
}

}  // namespace reacting
