// A program that measures one network's training step on commands, so that it can be interleaved with another
// program. It reads no data: every step uses the same batch.
//
//   step NAME COUNT        median time of a step in ms
//   floor TYPE             ms of: the floor, its GEMMs, its other arithmetic, its passes over memory
//   floor-detail TYPE      the floor by GEMM and engine
//   breakdown NAME COUNT   where the time of a step goes
//   memory NAME            bytes of the arena that activations and workspace share, by what part of a step
//                          recomputation should lengthen it, and the ms that the step should take
//
// NAME is a TYPE (fp32, bf16, fp16), optionally with suffixes: one of the network; "-batch-N" samples a
// step; "-health": every parameter is monitored in each step; gradients in buckets of "-bucket-N" KiB;
// "-alone": the ranks exchange nothing, each trains with its part of the samples; then the recomputation:
// "-every-K" stores the input of every K-th block, "-save-P" is the plan for P % fewer bytes than storing all
// activations. Plans use measured times, or modelled ones if the name ends in "-model". A command comes as
// arguments, or one per line on standard input; every answer ends with an empty line. Under mpirun the ranks
// divide a step's samples, and the first rank reads and answers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mylos/config/options.hpp"
#include "mylos/train/step/batch_source.hpp"
#include "step_floor.hpp"

namespace mylos {

/// The measured network.
class StepSubject {
 public:
  virtual ~StepSubject() = default;
  /// Complete options with all shapes. Throws Error (bad_input) for an unknown name.
  [[nodiscard]] virtual Options options(const std::string& name) const = 0;
  /// A rank's part of the batch that all steps use.
  [[nodiscard]] virtual std::unique_ptr<BatchSource> batch(const Options& options,
                                                           std::int64_t samples) const = 0;
  /// The GEMMs of a step.
  [[nodiscard]] virtual StepWork work(DType type) const = 0;
};

/// The type at the beginning of a name. Throws Error (bad_input) if there is none.
[[nodiscard]] DType type_of(const std::string& name);

/// A learning rate so low that thousands of steps on one batch do not overfit: gradients would become
/// subnormal.
inline constexpr double idle_lr = 1e-7;

/// Executes `commands`, joined to one, or those from standard input. Returns the program's exit code. MPI and
/// Kokkos must be initialised.
[[nodiscard]] int answer_commands(const StepSubject& subject, const std::vector<std::string>& commands);

}  // namespace mylos
