// A program that measures one network's training step on commands, so that another program can take turns
// with it. No data are read: every step sees the same batch.
//
//   step NAME COUNT        median time of a step in ms
//   floor TYPE             ms of: the floor, its products, its other arithmetic, its passes over memory
//   floor-detail TYPE      the floor by product and engine
//   breakdown NAME COUNT   where the time of a step goes
//   memory NAME            bytes of the arena that activations and workspace share, by what part of a step
//                          recomputation should lengthen it, and the ms that the step should take
//
// NAME is a TYPE (fp32, bf16, fp16), perhaps with suffixes: one that the network knows; "-batch-N" samples a
// step; "-health": every parameter is monitored in each step; gradients in buckets of "-bucket-N" KiB;
// "-alone": the ranks exchange nothing, each trains with its part of the samples; then what is recomputed:
// "-every-K" keeps the input of every K-th block, "-save-P" is the plan for P % fewer bytes than keeping all
// takes. Plans go by measured times, where the name ends in
// "-model" by modelled ones. A command comes as arguments, or one after the other on standard input; every
// answer ends with an empty line. Under mpirun the ranks part a step's samples, and the first rank reads and
// answers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mylos/config/options.hpp"
#include "mylos/train/step/batch_source.hpp"
#include "step_floor.hpp"

namespace mylos {

/// The network whose step is measured.
class StepSubject {
 public:
  virtual ~StepSubject() = default;
  /// Complete: all shapes are set. Throws Error (bad_input) for a name that it does not know.
  [[nodiscard]] virtual Options options(const std::string& name) const = 0;
  /// A rank's part of the one batch of all steps.
  [[nodiscard]] virtual std::unique_ptr<BatchSource> batch(const Options& options,
                                                           std::int64_t samples) const = 0;
  /// The products of a step.
  [[nodiscard]] virtual StepWork work(DType type) const = 0;
};

/// The type that a name begins with. Throws Error (bad_input) where it begins with none.
[[nodiscard]] DType type_of(const std::string& name);

/// A learning rate so low that thousands of steps on one batch do not fit it: gradients would vanish into
/// subnormals.
inline constexpr double idle_lr = 1e-7;

/// Answers `commands`, joined to one, or those on standard input. Returns the program's exit code. MPI and
/// Kokkos are up.
[[nodiscard]] int answer_commands(const StepSubject& subject, const std::vector<std::string>& commands);

}  // namespace mylos
