// TrainedNetwork: what a checkpoint says of a network, and the data that the network is to read.
//
// It knows shapes, scaling, names and the vocabulary, and has no weights yet: its memory can be compared with
// what is free before load_model() takes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/data/files/normalizer.hpp"
#include "mylos/data/files/vocabulary.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/inference/inference_model.hpp"
#include "mylos/inference/uncertainty/calibration.hpp"

namespace mylos {

struct TrainedNetwork {
  std::string path;  // of the checkpoint file
  std::int64_t step = 0;
  Deck deck;               // of the run; the sizes of the model are set
  std::string trained_on;  // the identity of the training data
  Normalizer normalizer;
  std::optional<Vocabulary> vocabulary;             // of a network of tokens
  std::optional<ConformalCalibration> calibration;  // of a model file that `mylos calibrate` wrote
  // Those of the data, in the network's order, else those of the training data, where either has them.
  std::vector<std::string> class_names;
  std::vector<std::string> input_names;
  std::vector<std::string> target_names;
  std::vector<std::string> notes;        // lines about the data besides those
  std::vector<std::int64_t> other_grid;  // the shape of the data's samples where they lie on another grid
                                         // than the training samples; else empty
  std::unique_ptr<RunData> data;         // nothing for a network that continues a text

  /// Returns a pass over this rank's part of the data.
  [[nodiscard]] std::unique_ptr<EvaluationPass> pass_over(DataPart part, const InferenceModel& model,
                                                          const RankGroup& ranks) const;
  /// The same over samples [first, first + count) of that part alone, in batches that are the same for every
  /// number of ranks.
  [[nodiscard]] std::unique_ptr<EvaluationPass> pass_over(DataPart part, const Share& only,
                                                          const InferenceModel& model,
                                                          const RankGroup& ranks) const;
  /// The tokens that there are; 0 where the network reads none.
  [[nodiscard]] std::int64_t known_classes() const { return vocabulary ? vocabulary->size() : 0; }
};

/// How the data of a network are chosen and checked.
struct NetworkData {
  std::function<void(DataOptions&)> choose;  // changes what the run's deck says of its data; no file: no data
  std::function<void(const TrainedNetwork&)> check = [](const TrainedNetwork&) {};  // before memory is taken
  Answers answers = Answers::needed;  // whether samples must have theirs
};

/// All ranks. Throws Error (bad_input) on all ranks where checkpoint and data do not belong together.
[[nodiscard]] TrainedNetwork open_trained_network(RankGroup& ranks, const CheckpointReader& reader,
                                                  const NetworkData& data);

/// All ranks. Returns the network with the weights of its checkpoint, or their moving average, for pieces of
/// `piece` samples; 0: of samples_per_piece(). Throws Error on all ranks: does_not_fit where a rank has less
/// memory free than the model takes, and as InferenceModel::read() does.
[[nodiscard]] std::unique_ptr<InferenceModel> load_model(RankGroup& ranks, const CheckpointReader& reader,
                                                         const TrainedNetwork& network,
                                                         const Engines& engines, bool average,
                                                         std::int64_t piece = 0);

/// Throws Error (does_not_fit) if a rank has less memory free than a network takes. `cache`: the bytes of
/// keys and values, which the network does not count.
void require_memory(const std::string& path, std::size_t network, std::size_t cache = 0);

/// Chooses all of `file`, whatever the deck says of parts and orders.
void choose_whole_file(DataOptions& data, const DataFiles& files);

}  // namespace mylos
