// OnlineTrainer: a network that a running program trains on its own Kokkos views and communicator.
//
// MPI and Kokkos must be initialised before its construction and remain so until its destruction. It
// duplicates the communicator, prints nothing, ends no process, and throws only Error. A call inside an
// OpenMP parallel region throws Error on the rank that makes it. All ranks of the communicator construct it,
// and call step(), save() and load() together; infer() involves only the calling rank.
//
// It uses the following options: the network ([model], with inputs and outputs), [precision], [memory],
// [optimizer], [schedule], [communication], [kernels], run.initial with [initial], run.seed and run.steps
// (the length of the learning-rate schedule; training may continue after it). The program decides when to
// train, evaluate, write and print, and provides the data.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "mylos/base/error.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/config/options.hpp"
#include "mylos/precision/scaler_statistics.hpp"

namespace mylos {

class Trainer;

/// A contiguous row per sample, in the memory where kernels run. Any Kokkos view of such memory converts to
/// it; a view with strides between its rows is refused.
template <class T>
using SampleRows = Kokkos::View<T**, Kokkos::LayoutRight, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
/// A value per sample.
template <class T>
using SampleValues = Kokkos::View<T*, Kokkos::LayoutRight, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// The result of a step. It is the same on all ranks.
struct StepReport {
  std::uint64_t step = 0;    // its number, from 1, including skipped steps
  std::int64_t samples = 0;  // of all ranks
  double loss = 0;           // mean over these samples, before the update
  double gradient_norm = 0;  // of this mean, before clipping
  double lr = 0;
  double loss_scale = 1;   // with which the step was computed
  int overflow_rank = -1;  // rank whose gradients were not finite; -1: none. An overflow skips the step
  bool updated = false;    // false: weights are unchanged, after an overflow or if no rank had samples
};

class OnlineTrainer {
 public:
  /// Allocates all memory and draws the initial weights. `message` receives the allocated sizes on rank 0.
  /// Throws Error on all ranks: bad_input if the options do not describe such a network or differ between
  /// ranks, does_not_fit if memory.budget, which includes the program itself, is too small.
  OnlineTrainer(const Options& options, MPI_Comm ranks,
                const std::function<void(const std::string&)>& message = {});
  ~OnlineTrainer();
  OnlineTrainer(OnlineTrainer&&) noexcept;
  OnlineTrainer& operator=(OnlineTrainer&&) noexcept;

  /// Returns the maximum number of samples that a rank may pass to a step: data.micro_batch or, if that is
  /// 0, the local batch of data.batch.
  [[nodiscard]] std::int64_t max_samples() const;

  /// Trains one step with this rank's samples: inputs [samples, model.inputs] and targets [samples,
  /// model.outputs] for model.loss = "mse", or labels [samples] for "cross_entropy". Each rank may pass a
  /// different number of samples, including none. The gradient is that of the mean loss over the samples of
  /// all ranks. Kernels on execution instances other than the default one must have finished writing the
  /// views; the views may be reused when the call returns. The first layer reads the views directly, or a
  /// copy in its type. A step allocates no memory.
  ///
  /// Throws Error on all ranks. The code is bad_input if a rank's views do not fit, or have a single sample
  /// for batch normalisation of a vector; nothing has changed then, and further steps may follow. The code
  /// is diverged if precision.scaler.max_consecutive_skips consecutive steps were not finite and no lower
  /// loss scale helps; training can then only resume from a checkpoint, by load().
  StepReport step(const SampleRows<const float>& inputs, const SampleRows<const float>& targets);
  StepReport step(const SampleRows<const float>& inputs, const SampleValues<const std::int32_t>& labels);

  /// Returns statistics of the loss scale and of overflows in all steps so far, including those before a
  /// loaded checkpoint. They are the same on all ranks.
  [[nodiscard]] ScalerStatistics scaler() const;

  /// Computes predictions [samples, model.outputs] from inputs [samples, model.inputs], for any number of
  /// samples. Predictions of a classifier are logits. Only this rank takes part, and only this rank throws
  /// Error (bad_input).
  void infer(const SampleRows<const float>& inputs, const SampleRows<float>& predictions);

  /// Writes a checkpoint, which `mylos info`, `eval` and `predict` read, as does load(), on any number of
  /// ranks. An existing file of that name is replaced when the new one is complete. Throws Error (failed) on
  /// all ranks if the file cannot be written, or if weights differ between ranks.
  void save(const std::string& path);
  /// Resumes from a checkpoint of such a network. With the same numbers of ranks and threads, training
  /// continues with the same bits as without an interruption. Checkpoints of `mylos train` are accepted too,
  /// unless they were trained on normalised data. Throws Error (bad_input) on all ranks for any other file;
  /// the network is then unchanged, unless the file is damaged.
  void load(const std::string& path);

  /// Returns the trainer for inspection.
  [[nodiscard]] const Trainer& trainer() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mylos
