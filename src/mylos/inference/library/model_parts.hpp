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
#include "mylos/inference/arrays/uncertain_samples.hpp"
#include "mylos/inference/inference_model.hpp"
#include "mylos/inference/library/derivatives.hpp"
#include "mylos/inference/library/float64_model.hpp"
#include "mylos/inference/library/host_staging.hpp"
#include "mylos/inference/library/output_bounds.hpp"
#include "mylos/inference/model.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/inference/uncertainty/input_flags.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos {

/// The inputs and outputs of a piece.
struct PieceTensors {
  /// `in_double`: without those of a network in other types.
  PieceTensors(const StoredNetwork& network, const KnownInputs& known, bool in_double, std::int64_t samples,
               void* memory);

  Pieces pieces;
  Tensor inputs, outputs;            // as the network reads them; as floats, of probabilities
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

/// The memory in InputStatistics::distances of the limit that InputCheck leaves to the file.
inline constexpr std::size_t default_limit = 1;

/// What a model allocates.
struct ModelBytes {
  InferenceBytes all;        // with what clones share
  std::size_t of_clone = 0;  // of a clone
};

/// A workspace of a model, and what it shares with others and with clones.
struct Model::Parts {
  /// Of the network in its own types. All weights are 0.
  Parts(std::shared_ptr<const SharedNetwork> with, std::unique_ptr<EngineSet> its_engines,
        std::int64_t samples_of_piece);
  /// Of the network in double.
  Parts(std::shared_ptr<const SharedNetwork> with, std::unique_ptr<EngineSet> its_engines,
        std::unique_ptr<Float64Model> its_double);
  /// Shares what clones share.
  Parts(const Parts& original, std::unique_ptr<EngineSet> its_engines);
  /// Returns what `count` such objects and what they share allocate, but for the network itself.
  [[nodiscard]] static InferenceBytes bytes_of(const StoredNetwork& network, const KnownInputs& known,
                                               bool in_double, std::int64_t samples, int count);

  [[nodiscard]] const StoredNetwork& network() const { return shared->network; }
  [[nodiscard]] const Chain& chain() const { return network().chain; }
  [[nodiscard]] SampleFormat inputs() const;
  [[nodiscard]] SampleFormat outputs(const char* name = "y") const;

  /// Computes the outputs `y` of `x` and, if asked for, `more`. Bounds are in data units alone.
  void infer(const Execution& exec, const ArraySamples& x, const ArraySamples& y, const SampleSpan& span,
             Units units, const UncertainSamples& more = {});
  /// Null: derivatives were not asked for.
  [[nodiscard]] OutputDerivatives* output_derivatives() const;
  /// Flags all samples. `distances`: null if they are not wanted.
  void check(const Execution& exec, const ArraySamples& x, const ArraySamples& flags,
             const ArraySamples* distances, const InputCheck& check);

  std::shared_ptr<const SharedNetwork> shared;
  std::unique_ptr<EngineSet> engines;
  std::int64_t samples;                           // of a piece
  std::optional<InferenceModel> model;            // or, in double:
  std::unique_ptr<Float64Model> in_double;        // which also computes derivatives
  std::unique_ptr<ModelDerivatives> derivatives;  // null: not asked for, or in double
  Arena memory = Arena("samples", tensors_in(nullptr).pieces.bytes());
  PieceTensors tensors = tensors_in(memory.data());
  HostStaging staging{staged_values(chain(), samples)};
  Execution alone = single_thread_instance();
  std::shared_ptr<BusyFlag> busy = std::make_shared<BusyFlag>();  // one of all members of an ensemble

 private:
  static std::int64_t staged_values(const Chain& chain, std::int64_t samples);
  [[nodiscard]] PieceTensors tensors_in(void* start) const {
    return {network(), shared->inputs, in_double != nullptr, samples, start};
  }
  [[nodiscard]] ConstTensor read_piece(const Execution& exec, const ArraySamples& x,
                                       const ScalingTable& scaling, std::int64_t first, std::int64_t count);
  void write_piece(const Execution& exec, const ConstTensor& found, Units units, const ArraySamples& y,
                   const UncertainSamples& more, std::int64_t first);
  void write_bounds(const Execution& exec, const Tensor& means, const UncertainSamples& more,
                    std::int64_t first);
  void write_probabilities(const Execution& exec, const ConstTensor& found, const ArraySamples& y,
                           std::int64_t first);
  void copy_flags(const Execution& exec, std::int64_t count, const ArraySamples& to, std::int64_t first);
};

/// The workspaces of a model, each for one call at a time.
struct Model::Workspaces {
  /// `first`, and others that share with it what clones share. `its_bytes`: of all.
  Workspaces(std::unique_ptr<Parts> first, int count, const ModelBytes& its_bytes);
  [[nodiscard]] Parts& first() const { return *all.front(); }

  std::vector<std::unique_ptr<Parts>> all;
  ModelBytes bytes;
  BusyFlag calls;  // on the model
};

}  // namespace mylos
