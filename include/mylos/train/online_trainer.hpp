// OnlineTrainer: a network that a running program trains on its own Kokkos views and communicator.
//
// MPI and Kokkos must be initialised before its construction and remain so until its destruction. It
// duplicates the communicator, prints nothing, ends no process, and throws only Error. A call inside an
// OpenMP parallel region, or while another thread's call on the trainer runs, throws Error on the rank that
// makes it. All ranks of the communicator must construct it together, and likewise call step(), apply(),
// save(), load(), and a parameter's read(), write() and read_gradient(); infer(), forward() and backward()
// involve only the calling rank, unless the network normalises over the samples of all ranks.
//
// With mesh.space each rank passes its box of each sample: rows of inputs() and outputs() values, in the
// layout of a whole sample on the box's points. Rank = group * boxes + box, boxes numbered row by row, as
// MPI_Cart_create() numbers ranks without reordering. The ranks of a group share their samples: they make the
// same calls, infer() included, with the same numbers of samples, and throw Error together if they do not.
//
// It uses the following options: the network ([model], with inputs and outputs), [precision], [memory],
// [optimizer], [schedule], [communication], [mesh], [kernels], run.initial with [initial], run.seed and
// run.steps (the length of the learning-rate schedule; training may continue after it). The program decides
// when to train, evaluate, write and print, and provides the data.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/kokkos_runtime.hpp"
#include "mylos/config/options.hpp"
#include "mylos/precision/scaler_statistics.hpp"

namespace mylos {

class Trainer;
struct OnlineParts;

/// A contiguous row per sample, in the memory where kernels run. Any Kokkos view of such memory converts to
/// it; a view with strides between its rows is refused.
template <class T>
using SampleRows = Kokkos::View<T**, Kokkos::LayoutRight, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
/// A value per sample.
template <class T>
using SampleValues = Kokkos::View<T*, Kokkos::LayoutRight, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// The result of a step, or of apply(). It is the same on all ranks.
struct StepReport {
  std::uint64_t step = 0;    // its number, from 1, including skipped steps
  std::int64_t samples = 0;  // of all ranks
  double loss = 0;           // mean over these samples, before the update; of apply(): see ApplyOptions::loss
  double gradient_norm = 0;  // of this loss, before clipping
  double lr = 0;             // of this step, whether or not it updated
  double loss_scale = 1;     // with which the step was computed
  int overflow_rank = -1;    // rank whose gradients were not finite; -1: none. An overflow skips the step
  bool updated = false;      // false: weights are unchanged, after an overflow or if no rank had samples
};

/// The loss L of which the program passes the derivative dL/dy to backward(). N: the samples of all ranks
/// and passes since the last apply().
enum class LossReduction {
  sum,  // L is the program's loss of all samples of all ranks: the gradients of all ranks are summed
  mean  // L is the sum of the samples' losses, and apply() divides it by N, which the program need not know
};

/// Options for a program with its own loss or loop. They must be the same on all ranks.
struct OnlineOptions {
  /// backward() can compute dL/dx. This takes memory for the input gradients of max_samples() samples, and
  /// the time of the first layer's GEMM.
  bool input_gradients = false;
  LossReduction reduction = LossReduction::sum;  // what backward()'s dL/dy is of
};

/// The optional arguments of apply(). The learning rate must be the same on all ranks.
struct ApplyOptions {
  std::optional<double> lr;    // of this step, >= 0; without it that of the learning-rate schedule
  std::optional<double> loss;  // this rank's part of L (mean: the sum of its samples' losses), only reported:
                               // StepReport::loss is the sum over ranks (mean: divided by N), NaN without it
};

/// A weight matrix or vector of the network, as in a checkpoint: row by row, in float.
class NetworkParameter {
 public:
  /// Returns "head/weight": the path under /model in a checkpoint.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }  // 1 for vectors
  /// Returns the values of a row.
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  /// Returns the number of values.
  [[nodiscard]] std::int64_t size() const { return rows_ * columns_; }

  /// Copies the parameter to `values`, a contiguous view of size() floats, doubles, halves or bfloat16s of
  /// any rank, in host or device memory. These are the master weights (precision.masters = "none": the 16-bit
  /// weights), rounded to nearest. All ranks call it, even if masters are sharded; every rank receives all
  /// values. Throws Error on all ranks (bad_input, bad_call) if a view has another size or gaps.
  template <class View>
  void read(const View& values) const {
    static_assert(!std::is_const_v<typename View::value_type>, "read() writes to the view");
    read_to(memory_of(values));
  }
  /// Copies the gradient of the program's loss (LossReduction) by this parameter to such a view: the sum of
  /// all ranks' passes since the last apply(), without the loss scale. After an overflow it is not finite, on
  /// all ranks. For a program with its own optimizer (docs/reference/library.md). All ranks call it, between
  /// backward() and apply(). Throws as read() does, and also if no rank has called backward(), or with
  /// optimizer.shard = "gradients", which does not store the sums of a rank.
  template <class View>
  void read_gradient(const View& values) const {
    static_assert(!std::is_const_v<typename View::value_type>, "read_gradient() writes to the view");
    read_gradient_to(memory_of(values));
  }
  /// Replaces the parameter with the values of rank 0's view and updates the compute weights. Moments and the
  /// average of the weights are unchanged. All ranks call it. Throws as read() does, and also if a value is
  /// not finite.
  template <class View>
  void write(const View& values) const {
    write_from(memory_of(values));
  }

 private:
  friend class OnlineTrainer;
  /// The elements of a view, which write_from() only reads.
  struct ProgramMemory {
    void* data;
    DType type;
    std::int64_t count;  // -1: the view has gaps
    bool on_host;
  };

  NetworkParameter(OnlineParts& parts, std::string name, std::size_t slot, std::int64_t rows,
                   std::int64_t columns)
      : parts_(&parts), name_(std::move(name)), slot_(slot), rows_(rows), columns_(columns) {}
  template <class View>
  static ProgramMemory memory_of(const View& values) {
    using T = typename View::non_const_value_type;
    static_assert(OneOf<T, float, double, half, bfloat16>,
                  "parameters are float, double, mylos::half or mylos::bfloat16");
    return {const_cast<T*>(values.data()), dtype_of<T>,
            values.span_is_contiguous() ? static_cast<std::int64_t>(values.size()) : -1,
            Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace,
                                       typename View::memory_space>::accessible};
  }
  void read_to(const ProgramMemory& values) const;
  void read_gradient_to(const ProgramMemory& values) const;
  void write_from(const ProgramMemory& values) const;

  OnlineParts* parts_;
  std::string name_;
  std::size_t slot_;
  std::int64_t rows_;
  std::int64_t columns_;
};

/// A network that a program trains; the head of this file says who calls what.
class OnlineTrainer {
 public:
  /// Allocates all memory and draws the initial weights. `message` receives the allocated sizes on rank 0.
  /// Throws Error on all ranks: bad_input if the options do not describe such a network or differ between
  /// ranks, does_not_fit if memory.budget, which includes the program itself, is too small, kokkos_mismatch
  /// if the program has another Kokkos than the library (`kokkos`, kokkos_runtime.hpp).
  OnlineTrainer(const Options& options, MPI_Comm ranks,
                const std::function<void(const std::string&)>& message = {},
                const KokkosRuntime& kokkos = kokkos_of_caller())
      : OnlineTrainer(options, ranks, OnlineOptions(), message, kokkos) {}
  /// Does the same for a program with its own loss.
  OnlineTrainer(const Options& options, MPI_Comm ranks, const OnlineOptions& own,
                const std::function<void(const std::string&)>& message = {},
                const KokkosRuntime& kokkos = kokkos_of_caller());
  ~OnlineTrainer();
  /// A trainer that was moved from may only be destroyed or assigned to.
  OnlineTrainer(OnlineTrainer&&) noexcept;
  /// As the constructor that moves.
  OnlineTrainer& operator=(OnlineTrainer&&) noexcept;

  /// Returns the maximum number of samples that a rank may pass to a step: data.micro_batch or, if that is
  /// 0, the local batch of data.batch.
  [[nodiscard]] std::int64_t max_samples() const;
  /// Return the columns of inputs and outputs: model.inputs and model.outputs, or with mesh.space those of
  /// this rank's box.
  [[nodiscard]] std::int64_t inputs() const;
  /// See inputs().
  [[nodiscard]] std::int64_t outputs() const;

  /// Trains one step with this rank's samples: inputs [samples, model.inputs] and targets [samples,
  /// model.outputs] for model.loss = "mse" and other losses of targets, or labels [samples] for
  /// "cross_entropy". Each rank may pass a different number of samples, including none. The gradient is that
  /// of the mean loss over the samples of all ranks. Kernels on execution instances other than the default
  /// one must have finished writing the views; the views may be reused when the call returns. The first layer
  /// reads the views directly, or a copy in its type. A step allocates no memory.
  ///
  /// Throws Error on all ranks. The code is bad_input if a rank's views do not fit, or have a single sample
  /// for batch normalisation of a vector; then nothing has changed, and training can continue. The code is
  /// diverged if precision.scaler.max_consecutive_skips consecutive steps were not finite and no lower loss
  /// scale helps; training can then only resume from a checkpoint, by load().
  StepReport step(const SampleRows<const float>& inputs, const SampleRows<const float>& targets);
  /// The same with a class for each sample.
  StepReport step(const SampleRows<const float>& inputs, const SampleValues<const std::int32_t>& labels);
  /// The same for doubles, here and below: they are rounded to float once on entry, in memory that grows with
  /// the samples of a call, and results are widened.
  StepReport step(const SampleRows<const double>& inputs, const SampleRows<const double>& targets);
  /// The same with labels.
  StepReport step(const SampleRows<const double>& inputs, const SampleValues<const std::int32_t>& labels);

  /// The three parts of step(), for programs with their own loss or loop: forward(), backward() and apply().
  /// model.loss is not used. In a step, each rank calls any number of pairs of forward() and backward(),
  /// including none; then all ranks call apply() once.
  ///
  ///   net.forward(x, y);              // y: predictions
  ///   ... dy = dL/dy ...              // mean squared error, N samples of all ranks: 2 (y - t) / (N outputs)
  ///   net.backward(dy);               // adds to the gradients
  ///   StepReport report = net.apply();
  ///
  /// forward() runs this rank's samples, at most max_samples(), in training mode (dropout, statistics of
  /// batches) and writes the head's outputs [samples, model.outputs], logits for a classifier, to y. What
  /// backward() needs is stored or recomputed, according to the memory plan. x must stay unchanged until
  /// backward() returns. A second forward() replaces one that no backward() followed; running statistics of
  /// batch normalisation may count both. infer() discards it too: call forward() again before backward().
  /// Kernels on the default execution instance may read y and dx immediately; those on others must wait for a
  /// fence.
  ///
  /// forward() and backward() throw Error (bad_input, bad_call) on the calling rank and then change nothing.
  /// If layers normalise over the samples of all ranks, all ranks must make the same calls (a rank without
  /// samples passes empty views), and every Error is thrown on all of them, even if one rank calls something
  /// else.
  void forward(const SampleRows<const float>& x, const SampleRows<float>& y);
  /// The same of doubles.
  void forward(const SampleRows<const double>& x, const SampleRows<double>& y);
  /// Adds the gradients of the last forward() pass to those of the step. dy = dL/dy [samples, model.outputs],
  /// unscaled: the loss scale multiplies it before it is rounded to the compute type; see LossReduction for
  /// L. The second form also writes dL/dx, the adjoints of the inputs, unscaled, to dx [samples,
  /// model.inputs], which may not overlap other views (with LossReduction::mean: of the sum of the samples'
  /// losses); it throws Error (bad_call) unless OnlineOptions::input_gradients is set. dy and dx of an
  /// overflow are not finite, and the step will be skipped. Gradients are summed in their type: set
  /// precision.gradient = "fp32" to add up many passes in 16-bit types. With optimizer.shard = "gradients" a
  /// step can have only one pass.
  void backward(const SampleRows<const float>& dy);
  /// The same, which also writes dL/dx.
  void backward(const SampleRows<const float>& dy, const SampleRows<float>& dx);
  /// The same of doubles.
  void backward(const SampleRows<const double>& dy);
  /// The same of doubles, with dL/dx.
  void backward(const SampleRows<const double>& dy, const SampleRows<double>& dx);
  /// Ends the step on all ranks as step() does: sums the gradients of all ranks, agrees on overflow and norm,
  /// clips, and updates or skips. If no rank has called backward(), no weights are updated. Throws Error on
  /// all ranks as step() does, and also if ranks disagree on the learning rate or a forward() has no
  /// backward() (bad_call): then nothing changes, except that the gradients of the step are discarded.
  /// load() discards them too, and so does step(), which throws Error on all ranks if any has called
  /// forward() or backward() since the last apply(). save() writes the state after the last apply() and
  /// discards nothing.
  StepReport apply(const ApplyOptions& options = {});
  /// Does the same with this learning rate.
  StepReport apply(double lr) { return apply(ApplyOptions{.lr = lr, .loss = {}}); }

  /// Returns the parameters of all layers, or the one with a given name ("head/weight"); they are valid as
  /// long as the trainer. For an unknown name, throws Error (bad_input, unknown_name), which lists the names,
  /// on the calling rank.
  [[nodiscard]] std::vector<NetworkParameter> parameters();
  /// Returns the one with this name.
  [[nodiscard]] NetworkParameter parameter(const std::string& name);

  /// Returns statistics of the loss scale and of overflows in all steps so far, including those before a
  /// loaded checkpoint. They are the same on all ranks.
  [[nodiscard]] ScalerStatistics scaler() const;

  /// Computes predictions [samples, model.outputs] from inputs [samples, model.inputs], for any number of
  /// samples. Predictions of a classifier are logits. Only this rank takes part, and only this rank throws
  /// Error (bad_input); with mesh.space the ranks that share the samples do.
  void infer(const SampleRows<const float>& inputs, const SampleRows<float>& predictions);
  /// The same of doubles.
  void infer(const SampleRows<const double>& inputs, const SampleRows<double>& predictions);

  /// Writes a checkpoint, which `mylos info`, `eval` and `predict` read, as does load(), on any number of
  /// ranks. An existing file of that name is replaced when the new one is complete. Throws Error (failed) on
  /// all ranks if the file cannot be written, or if weights differ between ranks.
  void save(const std::string& path);
  /// Resumes from a checkpoint of such a network. With the same numbers of ranks and threads, training
  /// continues bit for bit as if it had not been interrupted. Checkpoints of `mylos train` are accepted too,
  /// unless they were trained on normalised data. Throws Error (bad_input) on all ranks for any other file;
  /// the network is then unchanged, unless the file is damaged.
  void load(const std::string& path);

  /// Returns the trainer for inspection.
  [[nodiscard]] const Trainer& trainer() const;

 private:
  std::unique_ptr<OnlineParts> parts_;
};

}  // namespace mylos
