// OpenModel: the network of a file in this process, ready to run, with all that it runs on.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "commands.hpp"
#include "launch/runtime.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/inference/opened_network.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/optim/gradients/sample_exchange.hpp"

namespace mylos::app {

struct OpenModel {
  std::unique_ptr<KokkosRuntime> kokkos;  // outlives what follows
  OpenedNetwork opened;
  std::shared_ptr<const Execution> execution;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<EngineSet> engines;
  std::unique_ptr<InferenceModel> model;         // null where only the network was to be opened
  std::unique_ptr<SampleExchange> exchange;      // null where every rank has whole samples
  double exchange_s = 0;                         // that it has taken
  std::unique_ptr<const Normalizer> normalizer;  // of the box of a rank; likewise

  [[nodiscard]] const StoredNetwork& network() const { return opened.network; }
  [[nodiscard]] std::unique_ptr<EvaluationPass> pass_over(DataPart part) const {
    return opened.pass_over(part, *model, communicator->ranks());
  }
  void share_samples(InferenceContext& context) const {
    if (exchange == nullptr) return;
    context.sample_ranks = exchange.get();
    context.communicator = communicator.get();
  }
  [[nodiscard]] InferenceContext context() const {
    InferenceContext context(*execution, *engines, model->passes(), network().known_classes());
    share_samples(context);
    return context;
  }
};

/// Throws Error (bad_input) where boxes of samples are to be computed by several networks or with masks.
void require_single(const MeshOptions& mesh, const MemberArguments& members);

/// For this process alone. Returns the checkpoint that this run's folder names the best. Throws Error
/// (bad_input) where there is none.
[[nodiscard]] std::string best_file(const std::string& path);

/// All ranks. Returns the file that a command line means. Newer files of a folder that are damaged are named
/// on standard error. Throws Error (bad_input) where there is none.
[[nodiscard]] std::string checkpoint_file(RankGroup& ranks, const NamedCheckpoint& checkpoint);

/// Throws Error (bad_input) if the command line asks for an average of the weights that the file does not
/// have.
void require_average(const CheckpointReader& reader, const NamedCheckpoint& checkpoint);

/// Opens a network, with or without data.
using OpenNetwork = std::function<OpenedNetwork(const CheckpointReader&)>;

/// All ranks. Starts Kokkos, opens the network of a checkpoint by `open` and loads its weights. Throws Error
/// on all ranks.
[[nodiscard]] std::unique_ptr<OpenModel> open_model(const NamedCheckpoint& checkpoint,
                                                    const OpenNetwork& open, bool loads_weights = true);
/// The same with data, by open_network().
[[nodiscard]] std::unique_ptr<OpenModel> open_model(const NamedCheckpoint& checkpoint,
                                                    const NetworkData& data, bool loads_weights = true);

}  // namespace mylos::app
