// OpenedNetwork: a stored network, and the data that it is to read.
//
// It has no weights yet: its memory can be compared with what is free before load_model() takes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/data/run/run_data.hpp"
#include "mylos/inference/divided_network.hpp"
#include "mylos/inference/inference_model.hpp"
#include "mylos/inference/stored/stored_network.hpp"

namespace mylos {

struct OpenedNetwork {
  /// The names are those of the data, in the network's order, else those of the training data, where either
  /// has them.
  StoredNetwork network;
  std::unique_ptr<RunData> data = nullptr;     // nothing where the caller reads its own
  std::vector<std::string> notes = {};         // lines about the data
  std::optional<DividedNetwork> divided = {};  // where several ranks share samples

  /// Returns what this rank computes: the network of whole samples, or of its box.
  [[nodiscard]] const Chain& chain() const { return divided ? divided->chain : network.chain; }

  /// Returns a pass over this rank's part of the data.
  [[nodiscard]] std::unique_ptr<EvaluationPass> pass_over(DataPart part, const InferenceModel& model,
                                                          const RankGroup& ranks) const;
  /// The same over samples [first, first + count) of that part alone, in batches that are the same for every
  /// number of ranks.
  [[nodiscard]] std::unique_ptr<EvaluationPass> pass_over(DataPart part, const Share& only,
                                                          const InferenceModel& model,
                                                          const RankGroup& ranks) const;
};

/// How the data of a network are chosen and checked.
struct NetworkData {
  std::function<void(DataOptions&)> choose;  // changes what the run's deck says of its data
  std::function<void(const OpenedNetwork&)> check = [](const OpenedNetwork&) {};  // before memory is taken
  GroundTruth truth = GroundTruth::required;  // whether samples must have theirs
  std::optional<std::uint64_t> seed = {};     // of dropout; nothing: the run's
  MeshOptions mesh = {};                      // the boxes of each sample
};

/// All ranks. Throws Error (bad_input) on all ranks where file and data do not belong together.
[[nodiscard]] OpenedNetwork open_network(const CheckpointReader& reader, const NetworkData& data);

/// All ranks. Returns the network with the weights of its file, or their moving average, for pieces of
/// `piece` samples; 0: of samples_per_piece(), the same on all ranks. Throws Error on all ranks: does_not_fit
/// where a rank has less memory free than the model takes, and as InferenceModel::read() does.
[[nodiscard]] std::unique_ptr<InferenceModel> load_model(const CheckpointReader& reader,
                                                         const OpenedNetwork& opened, const Engines& engines,
                                                         bool average, std::int64_t piece = 0);

/// Throws Error (does_not_fit) if a rank has less memory free than a network takes. `cache`: the bytes of
/// keys and values, which the network does not count.
void require_memory(const std::string& path, std::size_t network, std::size_t cache = 0);

/// Throws Error (does_not_fit), beginning with `what`, if a rank has less host memory free.
void require_host_memory(const std::string& what, std::size_t bytes);

/// Chooses all of `file`, whatever the deck says of parts and orders.
void choose_whole_file(DataOptions& data, const DataFiles& files);

}  // namespace mylos
