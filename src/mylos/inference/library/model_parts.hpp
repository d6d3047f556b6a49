// Model::Parts: what a call on a Model uses alone, and what it shares with other calls and with clones; the
// work of calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/busy_flag.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/instructions.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/inference/arrays/array_samples.hpp"
#include "mylos/inference/arrays/sample_transfer.hpp"
#include "mylos/inference/arrays/scaling_arrays.hpp"
#include "mylos/inference/inference_model.hpp"
#include "mylos/inference/library/derivatives.hpp"
#include "mylos/inference/library/output_bounds.hpp"
#include "mylos/inference/model.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/inference/uncertainty/input_flags.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos {

/// Host memory through which arrays of the host go to a device and back. Empty in builds for hosts.
using StagedFloats = Kokkos::View<float*, Kokkos::SharedHostPinnedSpace>;

/// The inputs and outputs of a piece.
struct PieceTensors {
  PieceTensors(const StoredNetwork& network, const KnownInputs& known, std::int64_t samples, void* memory);

  Pieces pieces;
  Tensor inputs, outputs;            // as the network reads them; as floats
  Tensor staged_inputs;              // of an array in the host's memory
  Tensor distances;                  // of inputs, where the file has statistics for them
  Tensor means, deviations, bounds;  // in data units, where the file has a calibration
  std::uint8_t* flags;               // of an array in the host's memory, on a device
};

/// What clones share besides weights. Nothing changes it.
struct SharedNetwork {
  SharedNetwork(StoredNetwork stored, KnownInputs known);

  StoredNetwork network;
  KnownInputs inputs;
  Instructions instructions = instructions_in_use();  // whose order the packed weights have
  ScalingArrays scaling;
  InputTables input_tables;
  BoundTables bound_tables;
};

/// Where standard deviations and bounds of outputs go. Null: not wanted.
struct UncertainSamples {
  const ArraySamples* deviation = nullptr;
  const ArraySamples* lower = nullptr;
  const ArraySamples* upper = nullptr;
};

/// The memory in InputStatistics::distances of the limit that InputCheck leaves to the file.
inline constexpr std::size_t default_limit = 1;

/// A workspace of a model, and what it shares with others and with clones.
struct Model::Parts {
  /// All weights are 0.
  Parts(std::shared_ptr<const SharedNetwork> with, std::unique_ptr<EngineSet> its_engines,
        std::int64_t samples);
  /// Shares what clones share.
  Parts(const Parts& original, std::unique_ptr<EngineSet> its_engines);
  /// Returns what `count` such objects and what they share allocate.
  [[nodiscard]] static InferenceBytes bytes_of(const StoredNetwork& network, const KnownInputs& known,
                                               const Engines& engines, std::int64_t samples, int count = 1);

  [[nodiscard]] const StoredNetwork& network() const { return shared->network; }
  [[nodiscard]] const Chain& chain() const { return network().chain; }
  [[nodiscard]] SampleFormat inputs() const;
  [[nodiscard]] SampleFormat outputs(const char* name = "y") const;

  /// Computes samples [first, first + count) of `x`, and writes them to `y` and `more` from sample `to` on.
  /// Bounds are in data units alone.
  void infer(const Execution& exec, const ArraySamples& x, std::int64_t first, std::int64_t count,
             const ArraySamples& y, std::int64_t to, Units units, const UncertainSamples& more = {});
  /// Flags all samples. `distances`: null if they are not wanted.
  void check(const Execution& exec, const ArraySamples& x, const ArraySamples& flags,
             const ArraySamples* distances, const InputCheck& check);

  std::shared_ptr<const SharedNetwork> shared;
  std::unique_ptr<EngineSet> engines;
  InferenceModel model;
  std::unique_ptr<ModelDerivatives> derivatives;  // null: not asked for
  Arena memory = Arena("samples", tensors_in(nullptr).pieces.bytes());
  PieceTensors tensors = tensors_in(memory.data());
  StagedFloats staging;
  Execution alone = single_thread_instance();
  std::shared_ptr<BusyFlag> busy = std::make_shared<BusyFlag>();  // one of all members of an ensemble
  /// Writes rows of floats, where kernels run, to any array, from sample `first` on.
  void write_floats(const Execution& exec, const Tensor& floats, const ArraySamples& y, std::int64_t first);

 private:
  [[nodiscard]] PieceTensors tensors_in(void* start) const {
    return {network(), shared->inputs, model.samples(), start};
  }
  [[nodiscard]] ConstTensor read_piece(const Execution& exec, const ArraySamples& x,
                                       const ScalingTable& scaling, std::int64_t first, std::int64_t count);
  void stage_inputs(const Execution& exec, const ArraySamples& x, std::int64_t first, const Tensor& staged);
  void write_piece(const Execution& exec, const ConstTensor& found, Units units, const ArraySamples& y,
                   const UncertainSamples& more, std::int64_t first);
  void write_values(const Execution& exec, const ConstTensor& found, const ScalingTable& scaling,
                    const ArraySamples& y, std::int64_t first);
  void write_bounds(const Execution& exec, const Tensor& means, const UncertainSamples& more,
                    std::int64_t first);
  void write_probabilities(const Execution& exec, const ConstTensor& found, const ArraySamples& y,
                           std::int64_t first);
  void copy_to_host(const Execution& exec, const Tensor& floats);
  void copy_flags(const Execution& exec, std::int64_t count, const ArraySamples& to, std::int64_t first);
};

/// A file, opened by this process alone, and what a model of it takes.
struct ModelPlan {
  /// Takes no memory of the model. Throws Error (bad_input).
  ModelPlan(const std::string& path, const LoadOptions& options);

  RankGroup ranks;
  CheckpointReader reader;
  StoredNetwork network;
  KnownInputs inputs;
  std::unique_ptr<EngineSet> engines;
  std::int64_t limit = 0;                     // of the samples of a piece
  std::int64_t piece = 0;                     // in samples
  std::optional<InferenceBytes> derivatives;  // of DerivativeNetwork, if they are asked for
  InferenceBytes bytes;
};

/// Adds what a model of `count` workspaces takes for derivatives, if it has them.
void add_derivatives(const std::optional<InferenceBytes>& derivatives, int count, InferenceBytes& bytes);

/// Takes the memory of the plan's first workspace, once, and reads the weights.
[[nodiscard]] std::unique_ptr<Model::Parts> load_parts(ModelPlan& plan, bool average);

/// The workspaces of a model, each for one call at a time.
struct Model::Workspaces {
  /// `first`, and others that share with it what clones share.
  Workspaces(std::unique_ptr<Parts> first, int count, std::optional<InferenceBytes> its_derivatives = {});
  /// Returns the memory of all, and of what they share.
  [[nodiscard]] InferenceBytes bytes() const;
  [[nodiscard]] Parts& first() const { return *all.front(); }

  std::vector<std::unique_ptr<Parts>> all;
  std::optional<InferenceBytes> derivatives;  // of DerivativeNetwork, if there are any
  BusyFlag calls;                             // on the model
};

/// Throws Error (bad_call) unless Kokkos runs and the caller is outside of parallel regions.
void require_kokkos(const char* call);
/// Throws Error (does_not_fit) if less memory is free.
void require_free_memory(const std::string& path, std::size_t bytes);

}  // namespace mylos
