#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace reacting {

namespace {

/// The totals of all ranks: sums of work, the slowest rank's times.
Totals of_all_ranks(const Simulation& simulation) {
  Totals totals = simulation.totals;
  long work[3] = {totals.cells, totals.by_network, totals.rosenbrock_steps};
  double times[5] = {totals.seconds, totals.transport_s, totals.kinetics_s, totals.network_s,
                     totals.training_s};
  MPI_Allreduce(MPI_IN_PLACE, work, 3, MPI_LONG, MPI_SUM, simulation.grid.ranks);
  MPI_Allreduce(MPI_IN_PLACE, times, 5, MPI_DOUBLE, MPI_MAX, simulation.grid.ranks);
  return {totals.steps, work[0], work[1], work[2], times[0], times[1], times[2], times[3], times[4]};
}

void print_column_heads(bool alone, bool with) {
  std::printf("\n%-44s", "");
  if (alone) std::printf("%14s", "solver alone");
  if (with) std::printf("%16s", "with surrogate");
  std::printf("\n");
}

}  // namespace

FieldErrors compare(const Simulation& simulation, const Simulation& reference) {
  FieldErrors errors;
  for (int species = 0; species < 3; ++species) {
    double sums[2] = {0, 0};
    const Fields a = simulation.fields;
    const Fields b = reference.fields;
    Kokkos::parallel_reduce(
        "compare",
        Kokkos::MDRangePolicy<Kokkos::Rank<2>>({1, 1},
                                               {simulation.grid.rows + 1, simulation.grid.columns + 1}),
        KOKKOS_LAMBDA(int row, int column, double& difference, double& size) {
          const double d = a(species, row, column) - b(species, row, column);
          difference += d * d;
          size += b(species, row, column) * b(species, row, column);
        },
        sums[0], sums[1]);
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, simulation.grid.ranks);
    errors.relative[species] = std::sqrt(sums[0] / sums[1]);
  }
  return errors;
}

void Extremes::add(const State& state) {
  lowest = std::min(lowest, state.lowest);
  highest = std::max(highest, state.highest);
  mass_drift = std::max(mass_drift, std::abs(state.mass - 1));
}

void print_table(const Simulation* alone, const Simulation* with, const Extremes& extremes) {
  const Totals a = alone ? of_all_ranks(*alone) : Totals{};
  const Totals w = with ? of_all_ranks(*with) : Totals{};
  const FieldErrors errors = alone && with ? compare(*with, *alone) : FieldErrors{};
  const Grid& grid = (alone ? alone : with)->grid;
  if (grid.rank != 0) return;
  print_column_heads(alone, with);
  const auto row = [&](const char* name, double of_alone, double of_with, int digits) {
    std::printf("%-44s", name);
    if (alone) std::printf("%14.*f", digits, of_alone);
    if (with) std::printf("%16.*f", digits, of_with);
    std::printf("\n");
  };
  const auto per_step = [](double seconds, const Totals& t) {
    return 1e3 * seconds / static_cast<double>(std::max(1L, t.steps));
  };
  const auto integrated = [](const Totals& t) {
    return static_cast<double>(std::max(1L, t.cells - t.by_network));
  };
  row("whole run, s", a.seconds, w.seconds, 2);
  row("time per step, ms", per_step(a.seconds, a), per_step(w.seconds, w), 3);
  row("  transport and halo", per_step(a.transport_s, a), per_step(w.transport_s, w), 3);
  row("  kinetics", per_step(a.kinetics_s, a), per_step(w.kinetics_s, w), 3);
  row("  network: choice, prediction, checks", 0, per_step(w.network_s, w), 3);
  row("  training", 0, per_step(w.training_s, w), 3);
  row("Rosenbrock steps per integrated cell", static_cast<double>(a.rosenbrock_steps) / integrated(a),
      static_cast<double>(w.rosenbrock_steps) / integrated(w), 1);
  row("cells by network, %", 0,
      100 * static_cast<double>(w.by_network) / static_cast<double>(std::max(1L, w.cells)), 1);
  if (with) {
    std::printf("%-44s%*.1f\n", "  in the last step, %", alone ? 30 : 16,
                100 * with->surrogate->share_of_network);
    std::printf("%-44s%*llu\n", "training steps", alone ? 30 : 16,
                static_cast<unsigned long long>(with->surrogate->training_steps()));
    std::printf("%-44s%*.2f\n", "  their cost, s", alone ? 30 : 16, w.training_s);
    std::printf("%-44s%*.3f\n", "error of a step, last checks, %", alone ? 30 : 16,
                100 * with->surrogate->last_error());
  }
  if (alone && with) {
    const char* names[3] = {"y1", "y2", "y3"};
    for (int species = 0; species < 3; ++species) {
      std::printf("relative L2 error of %s at the end, %%%*.4f\n", names[species], 37,
                  100 * errors.relative[species]);
    }
    std::printf("whole run: %.2f times as fast with the surrogate\n", a.seconds / w.seconds);
  }
  std::printf("mass fractions from %.3g to %.8g; mass conserved to %.1e\n", extremes.lowest, extremes.highest,
              extremes.mass_drift);
}

}  // namespace reacting
