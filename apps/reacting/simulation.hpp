// A solver: transport and reactions of all cells, step by step, without or with the surrogate.
//
// A time step is transport, then reactions (Lie splitting with the stiff operator last: B. Sportisse,
// J. Comput. Phys. 161, 2000), so that the fields between steps are on the reactions' slow manifold.
#pragma once

#include <cstdint>
#include <memory>

#include "kinetics.hpp"
#include "options.hpp"
#include "surrogate.hpp"
#include "transport.hpp"

namespace reacting {

/// What has been computed since the start of the process, and how long it took on this rank.
struct Totals {
  long steps = 0;
  long cells = 0;       // times steps
  long by_network = 0;  // of these
  long rosenbrock_steps = 0;
  double seconds = 0;  // all of it
  double transport_s = 0, kinetics_s = 0, network_s = 0, training_s = 0;
};

/// The extremes of the mass fractions and the sum of all mass, of all ranks.
struct State {
  double lowest = 0;
  double highest = 0;
  double mass = 0;  // of the square; 1 at the start
};

class Simulation {
 public:
  /// At the initial state. `surrogate`: learn and use one.
  Simulation(const Options& options, MPI_Comm ranks, bool surrogate);

  /// Computes one time step. All ranks call it together.
  void advance();

  /// Time steps since the initial state.
  std::uint64_t step = 0;
  Grid grid;
  Fields fields;
  Kinetics kinetics;
  std::unique_ptr<Surrogate> surrogate;  // null: integrate all cells
  Totals totals;

  [[nodiscard]] State state() const;

 private:
  Transport transport_;
  double dt_;
  Kokkos::View<Cell*> all_cells_;
};

/// Sets the initial state: warm and cold spots of fresh reactant within products.
void set_initial_state(const Grid& grid, const Fields& fields);

}  // namespace reacting
