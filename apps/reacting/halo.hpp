// The halo: fills the ghost cells of a rank with its neighbours' cells.
#pragma once

#include "grid.hpp"

namespace reacting {

class Halo {
 public:
  explicit Halo(const Grid& grid);

  /// Fills the ghost cells at the four sides; corners are not used. All ranks call it together.
  void exchange(const Fields& fields);

 private:
  using Buffer = Kokkos::View<double**, Kokkos::LayoutRight>;  // [field, cell of the side]
  struct Side {
    int neighbour;
    int opposite;  // the neighbour's side that meets this one
    Buffer out, in;
    Buffer::host_mirror_type host_out, host_in;  // what MPI reads and writes: the same memory on a host
  };

  const Grid& grid_;
  Side sides_[4];  // below, above, left, right
};

}  // namespace reacting
