// Transport of all fields by a steady flow and by diffusion: finite volumes, central fluxes, and Heun's
// method, which is strong-stability preserving (Shu, Osher, J. Comput. Phys. 77, 1988).
//
// The scheme is linear, so it keeps y1 + y2 + y3 = 1 in each cell, and conservative: what leaves a cell
// enters its neighbour. Within its limits (the constructor checks the cell Peclet number, max_dt() is the
// longest step) a new value is a mean of old values with positive weights: no field leaves its range.
#pragma once

#include <functional>

#include "halo.hpp"

namespace reacting {

class Transport {
 public:
  /// The stream function psi(x, y) of the flow: u = d psi / dy, v = -d psi / dx. Its differences give face
  /// velocities without divergence. Throws mylos::Error if diffusivity is below speed * spacing / 2.
  Transport(const Grid& grid, const std::function<double(double, double)>& stream, double diffusivity);

  /// The longest time step within which no field leaves its range.
  [[nodiscard]] double max_dt() const { return max_dt_; }

  /// Advances all fields by dt. All ranks call it together.
  void advance(const Fields& fields, double dt);

 private:
  using Faces = Kokkos::View<double**, Kokkos::LayoutRight>;

  const Grid& grid_;
  Halo halo_;
  double diffusivity_;
  double max_dt_ = 0;
  Faces u_;  // through the left face of each cell, and the right one of the last
  Faces v_;  // through the lower face
  Fields stage_;
};

/// The application's flow: four vortices, at most `speed` fast.
std::function<double(double, double)> four_vortices(double speed);

}  // namespace reacting
