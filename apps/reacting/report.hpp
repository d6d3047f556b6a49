// The table at the end of a run, and the files that plot.py draws.
#pragma once

#include <string>

#include "simulation.hpp"

namespace reacting {

/// The differences of two solvers' fields: |a - b| / |b| of y1, y2, y3, of all cells.
struct FieldErrors {
  double relative[3] = {0, 0, 0};
};
FieldErrors compare(const Simulation& simulation, const Simulation& reference);

/// What a solver has had from its first step on.
struct Extremes {
  double lowest = 0;  // mass fraction
  double highest = 0;
  double mass_drift = 0;  // largest |mass - 1|
  void add(const State& state);
};

/// Prints the table on rank 0. Either may be null. All ranks call it together.
void print_table(const Simulation* alone, const Simulation* with, const Extremes& extremes);

}  // namespace reacting
