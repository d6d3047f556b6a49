// [run], [initial] and [health]: the name, length and reporting of a run, its initial weights, and its
// warnings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/model/options.hpp"
#include "mylos/train/measures.hpp"

namespace mylos {

/// The largest N of "rolloutN".
inline constexpr std::int64_t max_rollout_steps = 100'000;

/// Returns the steps N of the metric "rolloutN": "rollout20" has 20. 0: `word` is not such a metric.
[[nodiscard]] constexpr std::int64_t rollout_steps_of(std::string_view word) {
  constexpr std::string_view name = "rollout";
  if (!word.starts_with(name) || word.size() == name.size() || word[name.size()] == '0') return 0;
  std::int64_t steps = 0;
  for (const char digit : word.substr(name.size())) {
    if (digit < '0' || digit > '9') return 0;
    steps = 10 * steps + (digit - '0');
    if (steps > max_rollout_steps) return 0;
  }
  return steps;
}

/// [run]: the length of a run, where it writes, and what it reports.
struct RunOptions {
  std::string name = "run";           // of the run, in messages and reports
  std::string folder;                 // "runs/<name>" if the deck has none
  std::uint64_t seed = 1;             // of all random numbers
  std::int64_t epochs = 0;            // exactly one of epochs and steps is > 0
  std::int64_t steps = 0;             // skipped ones included
  int threads = 0;                    // per rank; 0 = cores this rank may use / ranks that share them
  std::int64_t evaluate_every = 0;    // steps; 0 = each epoch
  std::int64_t log_every = 10;        // steps
  std::int64_t walltime_s = 0;        // of the job, from the start of the program; 0 = no limit
  bool reproducible = false;          // the same bits on every supported number of ranks
  double peak_flops = 0;              // FLOP/s of a rank; 0 = measured at the start
  std::int64_t patience = 0;          // evaluations without improvement that end the run; 0 = no limit
  std::vector<Measure> metrics = {};  // measures of evaluations besides loss and accuracy
  std::int64_t rollout_steps = 0;     // N of "rolloutN" in run.metrics; 0 = not measured
  std::string initial = {};           // file with the initial weights; empty: they are drawn

  bool operator==(const RunOptions&) const = default;
};

/// A renaming of tensors of a file. A '*' in `to` stands for the text that the '*' in `from` matches.
struct RenameRule {
  std::string from;  // in the file
  std::string to;    // a parameter, "hidden1/weight"

  bool operator==(const RenameRule&) const = default;
};

/// The treatment of parameters that are missing in the file of initial weights.
enum class MissingWeights { refuse, draw };

/// What becomes of the normalisation of data in run.initial: it is kept where this run has the same
/// variables, kept or the run refused, or computed from this run's data.
enum class InitialNormalization { automatic, keep, recompute };

/// The selection and the names of weights that are loaded from run.initial (initial_weights.hpp).
struct InitialOptions {
  std::vector<std::string> include = {"*"};         // patterns of parameter names
  std::vector<std::string> exclude = {};            // exceptions from these
  MissingWeights missing = MissingWeights::refuse;  // what becomes of parameters that the file lacks
  std::vector<RenameRule> rename = {};              // if several match, the last one applies
  bool average = false;                             // load the moving average of a checkpoint's weights
  std::vector<std::string> ignore = {};             // keys or patterns in which the file's deck may differ
  InitialNormalization normalization = InitialNormalization::automatic;  // of inputs and targets

  bool operator==(const InitialOptions&) const = default;
};

/// The reaction of a run to a divergence: it stops, or returns to an earlier checkpoint.
enum class OnDivergence { stop, rewind };

/// Thresholds of warnings about a run's health (docs/explanation/health.md), where 0 disables a warning, and
/// the reaction to a divergence.
struct HealthOptions {
  std::int64_t every = 0;             // steps between inspections of all parameters; 0 = none
  std::vector<std::string> ignore;    // names or patterns of layers without warnings
  double vanishing_norm = 1e-7;       // gradient norm below which gradients vanish
  double exploding_norm = 1e4;        // gradient norm above which gradients explode
  double high_norm = 10;              // warning if exceeded for 100 steps without clipping
  double skipped_share = 0.05;        // fraction of the last 200 steps
  double loss_factor = 10;            // times the recent minimum loss
  double loss_deviations = 12;        // from the recent median loss, in robust standard deviations
  double least_update_ratio = 1e-6;   // update of a weight matrix relative to its norm
  double largest_update_ratio = 0.3;  // likewise
  double dead_share = 0.75;           // fraction of the units of a bias
  OnDivergence on_divergence = OnDivergence::stop;  // what a run does then
  // Options of "rewind".
  std::int64_t rewinds = 3;             // maximum, over all starts of the run
  bool rewind_on_loss = true;           // a loss jump counts as a divergence
  double rewind_lr_factor = 0.5;        // multiplies the learning rate after a rewind
  double rewind_scale_factor = 0.0625;  // multiplies the loss scale after a rewind
  bool rewind_float = true;             // after a rewind, a layer that overflowed in half computes in fp32

  bool operator==(const HealthOptions&) const = default;
};

}  // namespace mylos
