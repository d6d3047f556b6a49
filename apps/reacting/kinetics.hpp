// Robertson's reactions (H. H. Robertson, "The solution of a set of reaction rate equations", in: Numerical
// Analysis, J. Walsh (ed.), Academic Press 1966), the classical stiff problem:
//
//   y1 -> y2              k1 = 0.04   at the reference temperature
//   y2 + y2 -> y3 + y2    k2 = 3e7
//   y2 + y3 -> y1 + y3    k3 = 1e4
//
// and their integration in every cell by RODAS: a Rosenbrock method of order 4 with an embedded one of order
// 3, six stages, stiffly accurate and L-stable (E. Hairer, G. Wanner, Solving Ordinary Differential Equations
// II, 2nd edition, Springer 1996, section IV.7; the coefficients are those of their program RODAS).
#pragma once

#include "grid.hpp"
#include "rosenbrock.hpp"

namespace reacting {

/// Rate coefficients at a temperature, by powers of it: a modified Arrhenius law without activation energy.
template <class Real>
KOKKOS_INLINE_FUNCTION Rates<Real> rates_at(const Real& temperature) {
  const Real square = temperature * temperature;
  const Real fourth = square * square;
  return {Real(0.04) * (fourth * fourth), Real(3e7) * square, Real(1e4) * square};
}

/// The positive root y2 of k1 y1 = k2 y2^2 + k3 y2 y3, with y1 = total - y2 - y3: y2 follows it within
/// milliseconds.
KOKKOS_INLINE_FUNCTION double quasi_steady_y2(const Rates<double>& k, double total, double y3) {
  const double b = k.k3 * y3 + k.k1;
  const double c = k.k1 * (total - y3);
  return 2 * c / (b + Kokkos::sqrt(b * b + 4 * k.k2 * c));
}

/// This rank's cells, and the step with which the integration of each began the last time.
class Kinetics {
 public:
  Kinetics(const Grid& grid, double tolerance);

  /// Integrates the first `count` cells of `list` over dt, in vectors of cells.
  /// Returns the number of Rosenbrock steps of all these cells. Throws mylos::Error if a cell needs more than
  /// max_steps.
  long integrate(const Fields& fields, const Kokkos::View<Cell*>& list, int count, double dt);

  /// [0, row, column]: the first step of each cell, part of the solver's state.
  Fields first_steps;

 private:
  const Grid& grid_;
  Tolerance tolerance_;
};

}  // namespace reacting
