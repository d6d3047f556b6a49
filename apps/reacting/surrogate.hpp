// The surrogate of the kinetics: a network that learns the reactions of a time step from the cells that are
// integrated, and replaces the integration where its measured error is within the bound.
//
// In each step a part of all cells is sampled: they are integrated and predicted, which gives the network's
// error there (Trust) and a sample for training (Window). Of the others, cells of trusted bins take the
// network's prediction, and the rest is integrated.
#pragma once

#include <memory>
#include <string>

#include "mylos/mylos.hpp"
#include "trust.hpp"
#include "window.hpp"

namespace reacting {

struct SurrogateOptions {
  std::string deck;             // of the network
  double error_bound = 0.01;    // of the change of y3 and of y2 in a step, root mean square of a bin
  double check_share = 0.02;    // of the cells of trusted bins that are sampled
  double explore_share = 0.2;   // of the others
  int window = 32768;           // samples per rank
  int batch = 512;              // of them in a training step
  double learned_share = 0.95;  // of all cells by the network: below it
  int learning_steps = 8;       // training steps per time step; above it
  int idle_steps = 4;           // time steps per training step
};

/// The work of a time step, of this rank.
struct Work {
  long by_network = 0;        // cells
  long rosenbrock_steps = 0;  // of all integrated cells
  double network_s = 0;       // selection of cells, predictions, checks
  double kinetics_s = 0;
  double training_s = 0;
};

class Surrogate {
 public:
  Surrogate(const Grid& grid, const SurrogateOptions& options);

  /// The reactions of time step `step` over dt, in all cells. All ranks call it together.
  Work react(const Fields& fields, Kinetics& kinetics, std::uint64_t step, double dt);

  /// The root mean square error of the last step's checks, of all ranks; the loss of the last training step.
  [[nodiscard]] double last_error() const { return trust.last_error(); }
  [[nodiscard]] double last_loss() const { return last_loss_; }
  [[nodiscard]] std::uint64_t training_steps() const { return training_steps_; }

  // The state, for restarts.
  mylos::OnlineTrainer network;
  Trust trust;
  Window window;
  double share_of_network = 0;  // of the last step, of all ranks

  // The parts of react(), public because kernels of a device may not be in private functions.

  /// How many cells of this rank there are; integrated ones include the sampled ones.
  struct Counts {
    int integrated = 0, sampled = 0;
    KOKKOS_INLINE_FUNCTION Counts& operator+=(const Counts& other) {
      integrated += other.integrated;
      sampled += other.sampled;
      return *this;
    }
  };

  void choose(const Fields& fields, std::uint64_t step);
  Counts list(const Fields& fields);
  void predict(const Fields& fields, double dt);
  void check(const Fields& fields, int sampled, double dt);
  void train(std::uint64_t step);

 private:
  const Grid& grid_;
  SurrogateOptions options_;
  Kokkos::View<unsigned char*> kinds_;  // of each cell
  Rows inputs_, outputs_;               // of the network, for each cell
  Kokkos::View<Cell*> integrated_, sampled_;
  Kokkos::View<CellState*> sampled_before_;  // before they are integrated
  Rows sampled_inputs_, sampled_targets_;
  double last_loss_ = 0;
  std::uint64_t training_steps_ = 0;
};

}  // namespace reacting
