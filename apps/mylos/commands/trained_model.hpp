// TrainedModel: the network of a checkpoint, ready to run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "launch/runtime.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/train/evaluation/evaluation.hpp"

namespace mylos::app {

struct TrainedModel {
  std::string path;  // of the checkpoint file
  std::int64_t step = 0;
  Deck deck;
  Normalizer normalizer;
  std::optional<Vocabulary> vocabulary;  // of a network of tokens
  // Of its data, in the network's order, else of what it was trained on, where either has them.
  std::vector<std::string> class_names;
  std::vector<std::string> input_names;
  std::vector<std::string> target_names;
  std::vector<std::string> notes;  // on its data beside those, a line each
  std::unique_ptr<RunData> data;
  std::unique_ptr<KokkosRuntime> kokkos;  // outlives what follows
  std::optional<Execution> execution;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<GemmEngine> gemm;
  std::unique_ptr<Model> model;

  [[nodiscard]] std::unique_ptr<EvaluationPass> pass_over(DataPart part) const;
  [[nodiscard]] InferenceContext context() const {
    return {*execution, *gemm, *model, vocabulary ? vocabulary->size() : 0};
  }
};

/// For this process alone. The checkpoint that this run's folder names the best. Throws Error (bad_input)
/// where there is none.
[[nodiscard]] std::string best_file(const std::string& path);

/// All ranks call this. The file that it means; of a folder's, newer ones that are damaged are named on
/// standard error. Throws Error (bad_input) where there is none.
[[nodiscard]] std::string checkpoint_file(RankGroup& ranks, const NamedCheckpoint& checkpoint);

/// Opens `checkpoint` and the data that `choose_data`
/// leaves in the deck's options, if any; `answers` says whether samples must have theirs. `check` sees all
/// but the network, before its memory is taken. Throws Error on all ranks.
[[nodiscard]] std::unique_ptr<TrainedModel> open_trained_model(
    const NamedCheckpoint& checkpoint, const std::function<void(DataOptions&)>& choose_data,
    const std::function<void(const TrainedModel&)>& check = [](const TrainedModel&) {},
    Answers answers = Answers::needed);

/// All of `file`, whatever the deck says of parts and orders.
void choose_whole_file(DataOptions& data, const std::string& file);

}  // namespace mylos::app
