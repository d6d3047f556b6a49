// A time step of the flame, with the rate of the reaction by its closed form or by the exported network.
#pragma once

#include <Kokkos_Core.hpp>

namespace flame {

using Space = Kokkos::DefaultExecutionSpace;
using State = Kokkos::View<double**>;  // [cell][temperature, fuel]; cells of a row follow each other

/// An explicit Euler step on a periodic square: both quantities diffuse alike, and fuel becomes heat.
struct Step {
  State now;
  State next;
  int side;  // cells
  double dt;
  double diffusion;  // diffusivity * dt / area of a cell, at most 1/4

  [[nodiscard]] int cells() const { return side * side; }

  /// Writes the cell's next state. What leaves the fuel enters the temperature, and neighbours receive what
  /// a cell gives: so the sum over all cells of temperature + fuel stays, whatever `rate` is.
  KOKKOS_FUNCTION void update(int cell, double rate) const {
    const int row = cell / side;
    const int column = cell % side;
    const int west = row * side + (column + side - 1) % side;
    const int east = row * side + (column + 1) % side;
    const int north = (row + side - 1) % side * side + column;
    const int south = (row + 1) % side * side + column;
    const double burnt = dt * Kokkos::max(rate, 0.0);  // the reaction goes one way, whatever a network says
    for (int k = 0; k < 2; ++k) {
      const double around = now(west, k) + now(east, k) + now(north, k) + now(south, k);
      next(cell, k) = now(cell, k) + diffusion * (around - 4 * now(cell, k)) + (k == 0 ? burnt : -burnt);
    }
  }
};

/// What computes the rate.
enum class Form { formula, network_by_threads, network_by_teams };

/// Enqueues the step.
void advance(const Space& space, const Step& step, Form form);

}  // namespace flame
