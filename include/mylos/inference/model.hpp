// Model: a trained network inside a program that computes with it.
//
//   mylos::Model model("closure.h5");
//   model.infer(exec, x, y);     // x [columns, inputs], y [columns, outputs]: Kokkos views
//
// It opens a checkpoint of `mylos train` or of an OnlineTrainer, or an exported model file. It holds the
// weights in the types that the network computes with, and a workspace for one piece of samples, but no
// optimizer state. Kokkos must be initialised before its construction and remain so until its destruction;
// MPI is not used. It prints nothing, ends no process, and throws only Error, apart from what the
// code of custom layers throws.
//
// Arrays may have any strides. A sample is the last dimensions of an array: the features of a vector, or the
// points and channels of a grid ([height, width, channels]), also flattened to one dimension. All dimensions
// before them number samples; inputs and outputs must agree in those. Inputs of doubles are rounded to float
// once on entry (not with LoadOptions::in_double), 16-bit inputs are widened, and outputs are rounded once.
// In the network's type, results equal those of `mylos predict` bit for bit, whatever the layout of the
// arrays. inf and NaN are treated like any other number.
//
// Threads: LoadOptions::threads of them may call a Model at the same time, by default one; weights lie in
// memory once. A call that finds as many running throws Error (bad_call) and computes nothing. Threads may
// also each use a clone(). Construct and clone models outside of OpenMP parallel regions; infer() may be
// called inside one, by any of its threads. It then runs on the calling thread alone, with the same bits as
// outside. In nested regions it throws Error (failed). Calls leave the floating-point environment as it is;
// those of a model of several threads start no threads and take no locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/kokkos_runtime.hpp"
#include "mylos/inference/array_view.hpp"
#include "mylos/inference/input_check.hpp"
#include "mylos/model/layers.hpp"

namespace mylos {

/// The memory of a model, where the network lives: device memory in a build for devices.
struct InferenceBytes {
  std::size_t weights = 0;     // shared by clones
  std::size_t statistics = 0;  // what else the network reads: statistics of normalisation layers, scaling,
                               // constants of the loss; the weights of a small network once more, in the
                               // order in which the processor multiplies them
  std::size_t workspace = 0;   // activations of a piece of samples, and its inputs and outputs where these
                               // are scaled, cast or copied to a device

  /// Returns the sum.
  [[nodiscard]] std::size_t total() const { return weights + statistics + workspace; }
};

/// In which units infer() reads inputs and writes outputs.
enum class Units : std::uint8_t {
  data,     // those of the training data, as in `mylos predict`: inputs are scaled as in training, outputs
            // are targets in their own units, or probabilities of a cross-entropy
  network,  // what the network reads and writes: scaled values (for model.loss = "gaussian" the means),
            // logits
};

/// How a model is loaded.
struct LoadOptions {
  bool average = false;          // the moving average of the weights instead of the weights
  std::int64_t max_samples = 0;  // in a piece, which bounds the workspace; 0: chosen by the size of a sample
  /// Calls that may run on the model at the same time, each in a workspace of its own. With more than 1, a
  /// call computes on its calling thread alone.
  int threads = 1;
  /// Whether vjp(), jvp() and jacobian() may be called. The model then holds the network once more, in float.
  bool derivatives = false;
  /// Whether the model computes in double, from the weights in float: inputs of doubles are exact, and
  /// outputs are rounded to the type of their array alone. For networks of vectors of dense layers,
  /// activations, norms, sums and concatenations, on the host. The weights then lie in memory in double
  /// alone.
  bool in_double = false;
  /// The shape of a sample on a different grid from that of training: extents, then channels. Empty: that of
  /// training. Layers with weights for each point of a grid (dense) support only the training grid.
  std::vector<std::int64_t> shape = {};
  /// The layers that the program brings (custom_layer.hpp).
  CustomLayers custom_layers = {};
};

/// Outputs and how uncertain they are: arrays like `y` of Model::infer(). Those without a value are not
/// computed.
struct UncertainArrays {
  Array mean = {};                                // the outputs, as infer() writes them
  std::optional<Array> deviation = std::nullopt;  // their standard deviations
  std::optional<Array> lower = std::nullopt;      // the lower ends of their intervals
  std::optional<Array> upper = std::nullopt;      // the upper ends
};

/// A trained network that computes outputs; the head of this file says how.
class Model {
 public:
  /// Loads the file. Throws Error: bad_input if the file does not exist, is damaged, has another format or
  /// contains a GPT (use `mylos sample`); does_not_fit, before memory is taken, if less is free than
  /// memory_of() states; failed inside an OpenMP parallel region. bad_input too if the network cannot read
  /// samples of `options.shape`, or a layer cannot compute in double (unsupported_feature); the message names
  /// the layer.
  /// kokkos_mismatch if the program has another Kokkos than the library (`kokkos`, kokkos_runtime.hpp).
  explicit Model(const std::string& path, const LoadOptions& options = {},
                 const KokkosRuntime& kokkos = kokkos_of_caller());
  ~Model();
  /// A model that was moved from may only be destroyed or assigned to.
  Model(Model&&) noexcept;
  /// As the constructor that moves.
  Model& operator=(Model&&) noexcept;

  /// Returns the memory that a model of this file takes, without allocating it (in double, for a moment, 28
  /// bytes for each weight). Throws as the constructor does, except does_not_fit.
  [[nodiscard]] static InferenceBytes memory_of(const std::string& path, const LoadOptions& options = {});

  /// Returns a model that shares the weights and has its own workspace and execution resources. Throws Error:
  /// does_not_fit if less memory is free than its workspaces and copies of running statistics take; failed
  /// inside an OpenMP parallel region.
  [[nodiscard]] Model clone() const;

  /// Computes the outputs `y` of the inputs `x`. Both are Kokkos views of 1 to 5 dimensions of float, double,
  /// half or bfloat16, of any layout and strides, and they must not overlap.
  ///
  /// Views in host memory are read and complete when the call returns. Views in device memory are read and
  /// written on `exec`. On hosts `exec` may be any instance; inside an OpenMP parallel region it is not used.
  /// Calls allocate nothing after the first one with arrays of the same kind (element types, contiguous or
  /// not) and the same number of samples, or a full piece of them.
  ///
  /// Throws Error with nothing written. bad_input: shapes do not fit the network, `x` and `y` have different
  /// numbers of samples, strides are zero or negative, memory is null or overlaps. failed: nested parallel
  /// regions.
  template <ArrayView Inputs, ArrayView Outputs>
  void infer(const Execution& exec, const Inputs& x, const Outputs& y, Units units = Units::data) const {
    infer(exec, const_array_of(x), array_of(y), units);
  }
  /// The same for arrays that are described at run time.
  void infer(const Execution& exec, const ConstArray& x, const Array& y, Units units = Units::data) const;

  /// Computes outputs in data units and the standard deviation of each, for networks that compute them
  /// (model.loss = "gaussian"). `deviation` has the shape of `y` and must not overlap the other arrays.
  /// Otherwise works as infer() does.
  ///
  /// Throws Error as infer() does, and bad_input: missing_dataset if the network computes no deviations.
  template <ArrayView Inputs, ArrayView Outputs, ArrayView Deviations>
  void infer_deviation(const Execution& exec, const Inputs& x, const Outputs& y,
                       const Deviations& deviation) const {
    infer_uncertain(exec, const_array_of(x), {.mean = array_of(y), .deviation = array_of(deviation)});
  }
  /// Returns whether the network computes a standard deviation of each output.
  [[nodiscard]] bool has_deviations() const;

  /// Computes outputs in data units and the bounds of their intervals, for files that `mylos calibrate`
  /// wrote: the target of a sample like those of the calibration lies in its interval with probability
  /// coverage(). Bounds equal those of `mylos predict` bit for bit. All arrays have the shape of `y`, and
  /// none may overlap another. Otherwise works as infer() does.
  ///
  /// Throws Error as infer() does, and bad_input: missing_dataset if the file has no calibration.
  template <ArrayView Inputs, ArrayView Outputs, ArrayView Lower, ArrayView Upper>
  void infer_bounds(const Execution& exec, const Inputs& x, const Outputs& y, const Lower& lower,
                    const Upper& upper) const {
    infer_uncertain(exec, const_array_of(x),
                    {.mean = array_of(y), .lower = array_of(lower), .upper = array_of(upper)});
  }
  /// Computes any of the outputs, deviations and bounds, for arrays that are described at run time. Throws
  /// Error (bad_call) if none is requested.
  void infer_uncertain(const Execution& exec, const ConstArray& x, const UncertainArrays& y) const;
  /// Returns the probability that a target lies in its interval; 0: the file has no calibration.
  [[nodiscard]] double coverage() const;

  /// Computes dx = J^T dy, where J are the derivatives of the outputs, as infer() writes them in `units`,
  /// with respect to the inputs at `x`: the gradient of any function of the outputs whose gradient is `dy`.
  /// `x` and `dx` have the shape of inputs, `dy` that of outputs; no two may overlap. Of model.loss =
  /// "gaussian" the outputs are the means. The network computes in float, whatever its type, with the
  /// statistics of infer(), or in double as infer() does. Where it has no derivative (relu at 0), it takes
  /// one from one side. Otherwise works as infer() does.
  ///
  /// Throws Error as infer() does, and bad_call without LoadOptions::derivatives.
  template <ArrayView Inputs, ArrayView Seeds, ArrayView Derivatives>
  void vjp(const Execution& exec, const Inputs& x, const Seeds& dy, const Derivatives& dx,
           Units units = Units::data) const {
    vjp(exec, const_array_of(x), const_array_of(dy), array_of(dx), units);
  }
  /// The same for arrays that are described at run time.
  void vjp(const Execution& exec, const ConstArray& x, const ConstArray& dy, const Array& dx,
           Units units = Units::data) const;

  /// Computes dy = J dx, the derivatives along the direction `dx`. `x` and `dx` have the shape of inputs,
  /// `dy` that of outputs. In double it costs two calls of infer(). In float every row of J is computed, at
  /// the cost of jacobian(), whose bound holds too: use vjp() where it is possible. Throws Error as
  /// jacobian() does.
  template <ArrayView Inputs, ArrayView Directions, ArrayView Derivatives>
  void jvp(const Execution& exec, const Inputs& x, const Directions& dx, const Derivatives& dy,
           Units units = Units::data) const {
    jvp(exec, const_array_of(x), const_array_of(dx), array_of(dy), units);
  }
  /// The same for arrays that are described at run time.
  void jvp(const Execution& exec, const ConstArray& x, const ConstArray& dx, const Array& dy,
           Units units = Units::data) const;

  /// Computes J itself, [outputs(), inputs()] of each sample, also flattened, at the cost of outputs() calls
  /// of vjp(), in double of the smaller of outputs() and inputs(). Throws Error as vjp() does, and bad_call
  /// if outputs() · inputs() is above 2^22.
  template <ArrayView Inputs, ArrayView Derivatives>
  void jacobian(const Execution& exec, const Inputs& x, const Derivatives& j,
                Units units = Units::data) const {
    jacobian(exec, const_array_of(x), array_of(j), units);
  }
  /// The same for arrays that are described at run time.
  void jacobian(const Execution& exec, const ConstArray& x, const Array& j, Units units = Units::data) const;

  /// Checks whether each sample of `x` is like the training samples (input_check.hpp). Inputs are in data
  /// units. `flags`: a Kokkos view of std::uint8_t with the dimensions of `x` before those of a sample, or of
  /// one element for one sample; each becomes 0 or a sum of the bits of input_flag. `distances`: a view of
  /// the same dimensions and of an element type that infer() supports; each becomes the Mahalanobis distance,
  /// rounded once, and infinity for a sample that is not finite.
  ///
  /// Memory, `exec`, threads and allocation as in infer(). The views must not overlap.
  ///
  /// Throws Error with nothing written. bad_input: as infer(); missing_dataset if `check` requires the range
  /// or the statistics for distances, which the file does not contain.
  template <ArrayView Inputs, ArrayView Flags>
  void check_inputs(const Execution& exec, const Inputs& x, const Flags& flags,
                    const InputCheck& check = {}) const {
    check_inputs(exec, const_array_of(x), flag_array_of(flags), nullptr, check);
  }
  /// The same with distances.
  template <ArrayView Inputs, ArrayView Flags, ArrayView Distances>
  void check_inputs(const Execution& exec, const Inputs& x, const Flags& flags, const Distances& distances,
                    const InputCheck& check = {}) const {
    const Array far = array_of(distances);
    check_inputs(exec, const_array_of(x), flag_array_of(flags), &far, check);
  }
  /// The same for arrays that are described at run time. `distances`: null if they are not wanted.
  void check_inputs(const Execution& exec, const ConstArray& x, const FlagArray& flags,
                    const Array* distances = nullptr, const InputCheck& check = {}) const;
  /// The statistics of the training inputs that the file contains. Clones share them.
  [[nodiscard]] const InputStatistics& input_statistics() const;

  /// The number of values in a sample of inputs.
  [[nodiscard]] std::int64_t inputs() const;
  /// The same of the outputs.
  [[nodiscard]] std::int64_t outputs() const;
  /// The dimensions of a sample: {inputs()} for a vector, points and channels for a grid.
  [[nodiscard]] const std::vector<std::int64_t>& input_shape() const;
  /// The same of the outputs.
  [[nodiscard]] const std::vector<std::int64_t>& output_shape() const;
  /// The names of inputs and targets, or of their channels on a grid, and of classes, as the training data
  /// had them; empty if they had none.
  [[nodiscard]] const std::vector<std::string>& input_names() const;
  /// The same of the targets.
  [[nodiscard]] const std::vector<std::string>& target_names() const;
  /// The same of the classes.
  [[nodiscard]] const std::vector<std::string>& class_names() const;
  /// The training step of the weights.
  [[nodiscard]] std::int64_t step() const;
  /// The type that the first layer computes in, without LoadOptions::in_double.
  [[nodiscard]] DType type() const;
  /// Whether the model computes in double.
  [[nodiscard]] bool in_double() const;
  /// The number of calls that may run at the same time.
  [[nodiscard]] int threads() const;
  /// The number of samples that are computed at a time. A call may pass any number of them.
  [[nodiscard]] std::int64_t samples_per_piece() const;
  /// The memory that this model uses. Clones share weights and statistics.
  [[nodiscard]] InferenceBytes bytes() const;

  struct Parts;       // of the implementation
  struct Workspaces;  // likewise

 private:
  friend class Ensemble;
  explicit Model(std::unique_ptr<Workspaces> workspaces);
  [[nodiscard]] const Parts& parts() const;
  void run(const Execution& exec, const char* call, const ConstArray& x, const UncertainArrays& y,
           Units units) const;
  std::unique_ptr<Workspaces> workspaces_;  // of LoadOptions::threads calls
};

}  // namespace mylos
