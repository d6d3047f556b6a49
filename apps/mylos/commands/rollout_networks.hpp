// RolloutNetworks: the network, or the networks of an ensemble, that a rollout applies.
#pragma once

#include <memory>
#include <vector>

#include "commands/open_model.hpp"
#include "commands/rollout_data.hpp"
#include "mylos/inference/ensemble/ensemble_pass.hpp"
#include "mylos/inference/infer.hpp"

namespace mylos::app {

struct RolloutNetworks {
  std::unique_ptr<OpenModel> first;
  std::shared_ptr<const PointWeights> weights;  // of the training of the first; null: all points count alike
  std::shared_ptr<const StoredLevels> starts;

  /// Another network of the ensemble.
  struct Other {
    OpenedNetwork opened;
    std::unique_ptr<InferenceModel> model;
  };
  std::vector<std::unique_ptr<Other>> others = {};
  std::vector<EnsembleMember> members = {};  // the files of an ensemble

  /// Returns what runs each network.
  [[nodiscard]] std::vector<std::unique_ptr<RowInference>> rows() const;
};

/// Returns what runs a network with what all networks run on. Both must outlive it.
[[nodiscard]] std::unique_ptr<RowInference> rows_of(const OpenModel& shared, const StoredNetwork& network,
                                                    InferenceModel& model);

/// All ranks. Opens the networks and the file that the rollout begins with, and moves the networks to its
/// grid. `check` is called with the first before the file is opened. Throws Error on all ranks, also where
/// networks do not mean the same.
[[nodiscard]] RolloutNetworks open_networks(const RolloutArguments& arguments,
                                            const std::function<void(const StoredNetwork&)>& check);

}  // namespace mylos::app
