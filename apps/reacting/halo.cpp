#include "halo.hpp"

namespace reacting {

Halo::Halo(const Grid& grid) : grid_(grid) {
  const int neighbours[4] = {grid.below, grid.above, grid.left, grid.right};
  for (int side = 0; side < 4; ++side) {
    const auto length = static_cast<std::size_t>(side < 2 ? grid.columns : grid.rows);
    const Buffer out("halo out", fields_of_cell, length);
    const Buffer in("halo in", fields_of_cell, length);
    sides_[side] = {
        neighbours[side], side ^ 1, out, in, Kokkos::create_mirror_view(out), Kokkos::create_mirror_view(in)};
  }
}

void Halo::exchange(const Fields& fields) {
  using Range = Kokkos::MDRangePolicy<Kokkos::Rank<2>>;
  const int rows = grid_.rows;
  const int columns = grid_.columns;
  {
    const Buffer below = sides_[0].out;
    const Buffer above = sides_[1].out;
    Kokkos::parallel_for(
        "halo rows", Range({0, 0}, {fields_of_cell, columns}), KOKKOS_LAMBDA(int field, int i) {
          below(field, i) = fields(field, 1, i + 1);
          above(field, i) = fields(field, rows, i + 1);
        });
    const Buffer left = sides_[2].out;
    const Buffer right = sides_[3].out;
    Kokkos::parallel_for(
        "halo columns", Range({0, 0}, {fields_of_cell, rows}), KOKKOS_LAMBDA(int field, int i) {
          left(field, i) = fields(field, i + 1, 1);
          right(field, i) = fields(field, i + 1, columns);
        });
  }
  MPI_Request requests[8];
  for (int side = 0; side < 4; ++side) {
    Side& s = sides_[side];
    MPI_Irecv(s.host_in.data(), static_cast<int>(s.host_in.size()), MPI_DOUBLE, s.neighbour, side,
              grid_.ranks, &requests[side]);
  }
  for (int side = 0; side < 4; ++side) {
    Side& s = sides_[side];
    Kokkos::deep_copy(s.host_out, s.out);  // waits for the kernels
    MPI_Isend(s.host_out.data(), static_cast<int>(s.host_out.size()), MPI_DOUBLE, s.neighbour, s.opposite,
              grid_.ranks, &requests[4 + side]);
  }
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
  for (Side& s : sides_) Kokkos::deep_copy(s.in, s.host_in);
  {
    const Buffer below = sides_[0].in;
    const Buffer above = sides_[1].in;
    Kokkos::parallel_for(
        "ghost rows", Range({0, 0}, {fields_of_cell, columns}), KOKKOS_LAMBDA(int field, int i) {
          fields(field, 0, i + 1) = below(field, i);
          fields(field, rows + 1, i + 1) = above(field, i);
        });
    const Buffer left = sides_[2].in;
    const Buffer right = sides_[3].in;
    Kokkos::parallel_for(
        "ghost columns", Range({0, 0}, {fields_of_cell, rows}), KOKKOS_LAMBDA(int field, int i) {
          fields(field, i + 1, 0) = left(field, i);
          fields(field, i + 1, columns + 1) = right(field, i);
        });
  }
}

}  // namespace reacting
