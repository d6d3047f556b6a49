// OnlineTrainer: a network that a running program trains on its own Kokkos views and communicator.
//
// MPI and Kokkos are up before it is made and stay up until it is gone. It duplicates the communicator,
// prints nothing, ends no process, and throws Error alone. Within a parallel region of OpenMP every call is
// an Error, on the rank that makes it. All of the communicator's ranks make it, and call step(), save() and
// load() together; infer() is a matter of one rank.
//
// Of the options it reads the network ([model], with inputs and outputs), [precision], [memory], [optimizer],
// [schedule], [communication], [kernels], run.initial with [initial], run.seed and run.steps (the schedule's
// length; training may go on after it). When it trains, evaluates, writes and prints is the program's own
// business, and so are the data.
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

/// A row per sample, contiguous, in the memory where kernels run. Any Kokkos view of such memory converts to
/// it; one that strides over its rows is refused.
template <class T>
using SampleRows = Kokkos::View<T**, Kokkos::LayoutRight, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
/// A value per sample.
template <class T>
using SampleValues = Kokkos::View<T*, Kokkos::LayoutRight, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// What a step came to, the same on all ranks.
struct StepReport {
  std::uint64_t step = 0;    // its number, from 1; skipped ones count
  std::int64_t samples = 0;  // of all ranks
  double loss = 0;           // mean over them, before the update
  double gradient_norm = 0;  // of that mean, before clipping
  double lr = 0;
  double loss_scale = 1;   // with which it was computed
  int overflow_rank = -1;  // whose gradients were not finite: the step was skipped
  bool updated = false;    // false: no weight moved, because of an overflow or because no rank had samples
};

class OnlineTrainer {
 public:
  /// Takes all memory and draws the initial weights. `message` is told on rank 0 what is taken. Throws Error
  /// on all ranks: bad_input where the options do not describe such a network or differ between ranks,
  /// does_not_fit where memory.budget, which includes the program itself, is too small.
  OnlineTrainer(const Options& options, MPI_Comm ranks,
                const std::function<void(const std::string&)>& message = {});
  ~OnlineTrainer();
  OnlineTrainer(OnlineTrainer&&) noexcept;
  OnlineTrainer& operator=(OnlineTrainer&&) noexcept;

  /// The most samples that a rank may bring to a step: data.micro_batch, or where that is 0, its share of
  /// data.batch.
  [[nodiscard]] std::int64_t max_samples() const;

  /// One step with this rank's samples: inputs [samples, model.inputs] and targets [samples, model.outputs]
  /// of model.loss = "mse", or labels [samples] of "cross_entropy". Ranks may bring different numbers of
  /// samples, and some none: the gradient is that of the mean over the samples of all ranks. Kernels on other
  /// execution instances than the default one must have written the views before; they are free again when it
  /// returns. Views are read where they lie, or cast to the type of the first layer. A step allocates
  /// nothing.
  ///
  /// Throws Error on all ranks: bad_input where the views of any rank do not fit, or have a single sample for
  /// batch normalisation of a vector (nothing has moved then, and further steps may follow), diverged where
  /// precision.scaler.max_consecutive_skips steps in a row were not finite and no lower loss scale helps:
  /// only load() goes on from there.
  StepReport step(const SampleRows<const float>& inputs, const SampleRows<const float>& targets);
  StepReport step(const SampleRows<const float>& inputs, const SampleValues<const std::int32_t>& labels);

  /// What became of the loss scale and how often gradients overflowed, in all steps so far: those before a
  /// checkpoint that was loaded are among them. The same on all ranks.
  [[nodiscard]] ScalerStatistics scaler() const;

  /// predictions [samples, model.outputs] of inputs [samples, model.inputs], of any number of samples; of a
  /// classifier the logits. Other ranks take no part: throws Error (bad_input) on this one alone.
  void infer(const SampleRows<const float>& inputs, const SampleRows<float>& predictions);

  /// Writes a checkpoint: `mylos info`, `eval` and `predict` read it, and load(), on any number of ranks. A
  /// file of that name is replaced once the new one is whole. Throws Error (failed) on all ranks where the
  /// disk refuses it, or where the ranks' weights differ.
  void save(const std::string& path);
  /// Goes on from a checkpoint of such a network, with the same bits as if it had never been interrupted
  /// where ranks and threads are as many. Also from those of `mylos train`, unless they were trained on
  /// normalised data. Throws Error (bad_input) on all ranks for anything else; the network is then as it was,
  /// unless the file is damaged.
  void load(const std::string& path);

  /// The core beneath, to look at.
  [[nodiscard]] const Trainer& trainer() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mylos
