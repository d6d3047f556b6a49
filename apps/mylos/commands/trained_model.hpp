// TrainedModel: the network of a checkpoint in this process, ready to run, with all that it runs on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "launch/runtime.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/inference/stored_network.hpp"
#include "mylos/inference/trained_network.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos::app {

struct TrainedModel {
  std::unique_ptr<KokkosRuntime> kokkos;  // outlives what follows
  TrainedNetwork network;
  std::shared_ptr<const Execution> execution;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<EngineSet> engines;
  std::unique_ptr<InferenceModel> model;

  [[nodiscard]] std::unique_ptr<EvaluationPass> pass_over(DataPart part) const {
    return network.pass_over(part, *model, communicator->ranks());
  }
  [[nodiscard]] InferenceContext context() const {
    return {*execution, *engines, model->passes(), network.known_classes()};
  }
};

/// The same without the data of its run: what the checkpoint says of the network alone.
struct StoredModel {
  StoredNetwork network;
  std::unique_ptr<KokkosRuntime> kokkos;  // outlives what follows
  std::shared_ptr<const Execution> execution;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<EngineSet> engines;
  std::unique_ptr<InferenceModel> model;

  [[nodiscard]] InferenceContext context() const { return {*execution, *engines, model->passes()}; }
};

/// For this process alone. Returns the checkpoint that this run's folder names the best. Throws Error
/// (bad_input) where there is none.
[[nodiscard]] std::string best_file(const std::string& path);

/// All ranks. Returns the file that a command line means. Newer files of a folder that are damaged are named
/// on standard error. Throws Error (bad_input) where there is none.
[[nodiscard]] std::string checkpoint_file(RankGroup& ranks, const NamedCheckpoint& checkpoint);

/// Throws Error (bad_input) if the command line asks for an average of the weights that the file does not
/// have.
void require_average(const CheckpointReader& reader, const NamedCheckpoint& checkpoint);

/// All ranks. Starts Kokkos and opens the checkpoint of a network of numbers. `check` runs on all ranks
/// before memory is taken. Then `shape_of` opens the data and returns the shape of their samples on a grid;
/// empty: that of the training samples. Throws Error on all ranks.
[[nodiscard]] std::unique_ptr<StoredModel> open_stored_model(
    const NamedCheckpoint& checkpoint, const std::function<void(const StoredNetwork&)>& check,
    const std::function<std::vector<std::int64_t>(const StoredNetwork&)>& shape_of);

struct OpenOptions {
  bool loads_weights = true;               // false: TrainedModel::model is null
  std::optional<std::uint64_t> seed = {};  // of dropout; nothing: the run's
};

/// All ranks. Starts Kokkos and opens the checkpoint with its data. Throws Error on all ranks.
[[nodiscard]] std::unique_ptr<TrainedModel> open_trained_model(const NamedCheckpoint& checkpoint,
                                                               const NetworkData& data,
                                                               const OpenOptions& options = {});

}  // namespace mylos::app
