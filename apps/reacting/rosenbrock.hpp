// RODAS for the kinetics of kinetics.hpp. Real is a vector of cells (Kokkos' simd): each lane has steps of
// its own, so its result does not depend on the cells beside it. On a device a vector is one cell.
#pragma once

#include <Kokkos_Core.hpp>
#include <Kokkos_SIMD.hpp>

namespace reacting {

/// As many cells as a vector register of the execution space holds.
using Lanes = Kokkos::Experimental::simd<double>;

template <class Real>
struct Rates {
  Real k1, k2, k3;
};

/// The error of a step may be relative * |y| + absolute; y2 is 1e-5 of the others and has its own.
struct Tolerance {
  double relative;
  double absolute;  // of y1 and y3
  double absolute_y2;
};

/// y2 and y3; y1 is total - y2 - y3. RODAS preserves linear invariants, so nothing is lost by that.
template <class Real>
struct Pair {
  Real y2, y3;
};

template <class Real>
KOKKOS_INLINE_FUNCTION Pair<Real> operator+(const Pair<Real>& a, const Pair<Real>& b) {
  return {a.y2 + b.y2, a.y3 + b.y3};
}
template <class Real>
KOKKOS_INLINE_FUNCTION Pair<Real> operator*(const Real& factor, const Pair<Real>& a) {
  return {factor * a.y2, factor * a.y3};
}
template <class Real>
KOKKOS_INLINE_FUNCTION Pair<Real> operator*(double factor, const Pair<Real>& a) {
  return Real(factor) * a;
}

template <class Real>
KOKKOS_INLINE_FUNCTION Pair<Real> rate_of_change(const Rates<Real>& k, const Real& total,
                                                 const Pair<Real>& y) {
  const Real made = k.k2 * y.y2 * y.y2;
  return {k.k1 * (total - y.y2 - y.y3) - k.k3 * y.y2 * y.y3 - made, made};
}

/// One step of length h: the new state and the difference to the embedded method's. Public for its test.
template <class Real>
struct Step {
  Pair<Real> y, error;
};

template <class Real>
KOKKOS_INLINE_FUNCTION Step<Real> rodas_step(const Rates<Real>& k, const Real& total, const Pair<Real>& y,
                                             const Real& h) {
  // G = 1 / (gamma h) - Jacobian, and its inverse.
  const Real inverse_h = Real(1.0) / h;
  const Real diagonal = Real(4.0) * inverse_h;  // gamma = 1/4
  const Real g22 = diagonal + k.k1 + k.k3 * y.y3 + Real(2.0) * k.k2 * y.y2;
  const Real g23 = k.k1 + k.k3 * y.y2;
  const Real g32 = Real(-2.0) * k.k2 * y.y2;
  const Real inverse = Real(1.0) / (g22 * diagonal - g23 * g32);
  const auto solve = [&](const Pair<Real>& r) -> Pair<Real> {
    return {(diagonal * r.y2 - g23 * r.y3) * inverse, (g22 * r.y3 - g32 * r.y2) * inverse};
  };
  const auto f = [&](const Pair<Real>& state) { return rate_of_change(k, total, state); };

  const Pair<Real> u1 = solve(f(y));
  const Pair<Real> u2 = solve(f(y + 1.544 * u1) + inverse_h * (-5.6688 * u1));
  const Pair<Real> u3 = solve(f(y + 0.9466785280815826 * u1 + 0.2557011698983284 * u2) +
                              inverse_h * (-2.430093356833875 * u1 + -0.2063599157091915 * u2));
  const Pair<Real> u4 =
      solve(f(y + 3.314825187068521 * u1 + 2.896124015972201 * u2 + 0.9986419139977817 * u3) +
            inverse_h * (-0.1073529058151375 * u1 + -9.594562251023355 * u2 + -20.47028614809616 * u3));
  const Pair<Real> y5 =
      y + 1.221224509226641 * u1 + 6.019134481288629 * u2 + 12.53708332932087 * u3 + -0.6878860361058950 * u4;
  const Pair<Real> u5 = solve(f(y5) + inverse_h * (7.496443313967647 * u1 + -10.24680431464352 * u2 +
                                                   -33.99990352819905 * u3 + 11.70890893206160 * u4));
  const Pair<Real> y6 = y5 + u5;  // the embedded solution
  const Pair<Real> u6 =
      solve(f(y6) + inverse_h * (8.083246795921522 * u1 + -7.981132988064893 * u2 + -31.52159432874371 * u3 +
                                 16.31930543123136 * u4 + -6.058818238834054 * u5));
  return {y6 + u6, u6};
}

/// Advances y by dt with steps as long as the tolerance allows; `first` is the first step tried and becomes
/// the first one accepted. Returns the number of steps of the vector, or -1 if they exceed max_steps.
template <class Real>
KOKKOS_INLINE_FUNCTION int integrate_cells(const Rates<Real>& k, const Real& total, Pair<Real>& y,
                                           Real& first, double dt, const Tolerance& tolerance) {
  using Kokkos::Experimental::any_of;
  using Kokkos::Experimental::condition;
  constexpr int max_steps = 100000;
  // Comparisons by < and <= alone: > and >= of AVX-512 vectors are wrong in Kokkos 5.0.2.
  Real left(dt);
  Real h = first;
  Real accepted_first(0.0);
  for (int steps = 0;; ++steps) {
    const auto active = Real(0.0) < left;
    if (!any_of(active)) {
      first = accepted_first;
      return steps;
    }
    if (steps == max_steps) return -1;
    const Real tried = condition(active, Kokkos::min(h, left), Real(dt));
    const Step<Real> step = rodas_step(k, total, y, tried);
    const auto scale = [&](const Real& before, const Real& after, double absolute) {
      return Real(absolute) + Real(tolerance.relative) * Kokkos::max(Kokkos::abs(before), Kokkos::abs(after));
    };
    const Real e1 = (step.error.y2 + step.error.y3) /
                    scale(total - y.y2 - y.y3, total - step.y.y2 - step.y.y3, tolerance.absolute);
    const Real e2 = step.error.y2 / scale(y.y2, step.y.y2, tolerance.absolute_y2);
    const Real e3 = step.error.y3 / scale(y.y3, step.y.y3, tolerance.absolute);
    const Real error = (e1 * e1 + e2 * e2 + e3 * e3) * Real(1.0 / 3);  // its square; NaN is not accepted
    const auto accepted = active && (error <= Real(1.0));
    const Real fourth_root = Kokkos::sqrt(Kokkos::sqrt(Kokkos::sqrt(error)));  // of the error
    const Real wanted = Kokkos::min(Real(6.0), Kokkos::max(Real(0.2), Real(0.9) / fourth_root));
    const Real factor = condition(error < Real(1e30), wanted, Real(0.2));
    y.y2 = condition(accepted, step.y.y2, y.y2);
    y.y3 = condition(accepted, step.y.y3, y.y3);
    accepted_first = condition(accepted && accepted_first <= Real(0.0), tried, accepted_first);
    left = condition(accepted, left - tried, left);
    h = tried * factor;
  }
}

}  // namespace reacting
