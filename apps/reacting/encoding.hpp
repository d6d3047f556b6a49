// The map that the network learns: from a cell's state before the reactions of a time step to its state
// after.
//
// Inputs: y3; y2 in relation to its quasi-steady value; temperature. Output: which part of y1 + y2 became y3.
// The new y3 follows from it, y2 is the quasi-steady one of the new y3, and y1 is what remains of the total.
// So y1 + y2 + y3 is conserved and no mass fraction leaves [0, 1], whatever the network says.
#pragma once

#include "kinetics.hpp"

namespace reacting {

constexpr int inputs_of_network = 3;

/// A cell before the reactions.
struct CellState {
  double total;  // y1 + y2 + y3
  double y2, y3;
  Rates<double> k;
  double temperature;
};

KOKKOS_INLINE_FUNCTION CellState cell_state(const Fields& fields, const Cell& cell) {
  const double t = fields(temperature, cell.row, cell.column);
  const double b = fields(y2, cell.row, cell.column);
  const double c = fields(y3, cell.row, cell.column);
  return {fields(y1, cell.row, cell.column) + b + c, b, c, rates_at(t), t};
}

/// Three numbers, in [-1, 1] for temperatures from 0.75 to 1.25.
KOKKOS_INLINE_FUNCTION void encode(const CellState& cell, float (&inputs)[inputs_of_network]) {
  const double steady = quasi_steady_y2(cell.k, cell.total, cell.y3);
  inputs[0] = static_cast<float>(2 * cell.y3 - 1);
  inputs[1] = static_cast<float>((cell.y2 - steady) / (cell.y2 + steady + 1e-30));
  inputs[2] = static_cast<float>(4 * (cell.temperature - 1));
}

/// The network's output is linear in the fourth root of the part that reacts per second: parts from 1e-6 to 1
/// then have similar errors.
KOKKOS_INLINE_FUNCTION double part_of(double output, double dt) {
  const double root = Kokkos::max(0.0, (output + 1) / 3);
  return Kokkos::min(1.0, dt * (root * root) * (root * root));
}
KOKKOS_INLINE_FUNCTION double output_of(double part, double dt) {
  return 3 * Kokkos::sqrt(Kokkos::sqrt(Kokkos::max(0.0, part) / dt)) - 1;
}

/// The output that would give `new_y3`.
KOKKOS_INLINE_FUNCTION float target_of(const CellState& before, double new_y3, double dt) {
  const double available = before.total - before.y3;
  const double part = available > 0 ? (new_y3 - before.y3) / available : 0;
  return static_cast<float>(output_of(part, dt));
}

/// The state after the reactions by the network's output.
KOKKOS_INLINE_FUNCTION Pair<double> decode(const CellState& before, float output, double dt) {
  const double available = before.total - before.y3;
  const double new_y3 = before.y3 + available * part_of(static_cast<double>(output), dt);
  return {quasi_steady_y2(before.k, before.total, new_y3), new_y3};
}

/// The relative error of the change of y3 and of the new y2, whichever is greater.
KOKKOS_INLINE_FUNCTION double error_of(const CellState& before, const Pair<double>& predicted,
                                       const Pair<double>& integrated) {
  const double change =
      Kokkos::abs(integrated.y3 - before.y3) + 1e-6;  // a run of 1000 steps changes 1e-3 by it
  const double e3 = Kokkos::abs(predicted.y3 - integrated.y3) / change;
  const double e2 = Kokkos::abs(predicted.y2 - integrated.y2) / (integrated.y2 + 1e-10);
  return Kokkos::max(e2, e3);
}

}  // namespace reacting
