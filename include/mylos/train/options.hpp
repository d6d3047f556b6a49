// [run], [initial] and [health]: name, length and reporting of a run, with which weights it begins, and what
// it warns of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/model/options.hpp"

namespace mylos {

/// What an evaluation can tell beside loss and accuracy: of classes whether the label is among the five
/// largest outputs, and what was taken for what; of the targets of a regression R2.
enum class Measure { top5, confusion, r2 };

inline constexpr Measure all_measures[] = {Measure::top5, Measure::confusion, Measure::r2};

[[nodiscard]] constexpr const char* name_of(Measure measure) {
  return measure == Measure::top5 ? "top5" : measure == Measure::confusion ? "confusion" : "r2";
}

/// Whether outputs that are trained by this loss have it.
[[nodiscard]] constexpr bool is_measured_of(Measure measure, LossType loss) {
  const bool of_classes = loss == LossType::cross_entropy;
  return measure == Measure::r2 ? !of_classes && loss != LossType::binary_cross_entropy : of_classes;
}

struct RunOptions {
  std::string name = "run";
  std::string folder;  // "runs/<name>" when the deck gives none
  std::uint64_t seed = 1;
  std::int64_t epochs = 0;  // exactly one of epochs and steps is > 0
  std::int64_t steps = 0;
  int threads = 0;                    // per rank; 0 = cores this rank may use / ranks that share them
  std::int64_t evaluate_every = 0;    // steps; 0 = each epoch
  std::int64_t log_every = 10;        // steps
  std::int64_t walltime_s = 0;        // that the job has, from the start of the program; 0 = no end
  bool reproducible = false;          // the same bits on every number of ranks that it allows
  double peak_flops = 0;              // FLOP/s of a rank; 0 = measured at the start
  std::int64_t patience = 0;          // evaluations without improvement that end the run; 0 = none do
  std::vector<Measure> metrics = {};  // of evaluations, beside loss and accuracy
  std::string initial = {};           // file whose weights a run begins with; empty: they are drawn

  bool operator==(const RunOptions&) const = default;
};

/// Tensors of a file by other names. A '*' of `to` stands for what that of `from` has matched.
struct RenameRule {
  std::string from;  // in the file
  std::string to;    // a parameter, "hidden1/weight"

  bool operator==(const RenameRule&) const = default;
};

/// What becomes of parameters that the file of initial weights lacks.
enum class MissingWeights { refuse, draw };

/// Which of the weights in run.initial are taken, and as what (initial_weights.hpp).
struct InitialOptions {
  std::vector<std::string> include = {"*"};  // parameters by patterns of their names
  std::vector<std::string> exclude = {};     // of these
  MissingWeights missing = MissingWeights::refuse;
  std::vector<RenameRule> rename = {};   // of several that match, the last one
  bool average = false;                  // of a checkpoint: the moving average of its weights
  std::vector<std::string> ignore = {};  // keys, or patterns, in which the file's deck may differ

  bool operator==(const InitialOptions&) const = default;
};

/// What a run does that has diverged: ends, or goes back to a checkpoint from before.
enum class OnDivergence { stop, rewind };

/// From where on a run's numbers are said to be unhealthy (docs/health.md); 0 switches a warning off. And
/// what is done about a divergence.
struct HealthOptions {
  std::int64_t every = 0;            // steps between looks at every parameter; 0 = none
  std::vector<std::string> ignore;   // names or patterns of layers of which nothing is warned
  double vanishing_norm = 1e-7;      // of gradients, below which they vanish
  double exploding_norm = 1e4;       // above which they explode
  double high_norm = 10;             // above which for 100 steps, without clipping, they explode slowly
  double skipped_share = 0.05;       // of the last 200 steps
  double loss_factor = 10;           // of the recent least loss
  double loss_deviations = 12;       // from the recent median loss, in robust standard deviations
  double least_update_ratio = 1e-6;  // of a weight matrix
  double largest_update_ratio = 0.3;
  double dead_share = 0.75;  // of the units behind a bias
  OnDivergence on_divergence = OnDivergence::stop;
  // Of rewind:
  std::int64_t rewinds = 3;             // at most, in all starts of the run
  bool rewind_on_loss = true;           // a loss that jumps is a divergence too
  double rewind_lr_factor = 0.5;        // of the learning rate behind a return
  double rewind_scale_factor = 0.0625;  // of the loss scale behind a return
  bool rewind_float = true;             // a layer that overflowed in half computes in fp32 behind a return

  bool operator==(const HealthOptions&) const = default;
};

}  // namespace mylos
