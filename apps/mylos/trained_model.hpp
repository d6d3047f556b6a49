// TrainedModel: the network of a checkpoint, ready to run.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mylos/comm/communicator.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/data/dataset.hpp"
#include "mylos/train/evaluation.hpp"
#include "runtime.hpp"

namespace mylos::app {

struct TrainedModel {
  std::string path;  // of the checkpoint file
  std::int64_t step = 0;
  Deck deck;
  Normalizer normalizer;
  std::optional<Dataset> data;
  std::unique_ptr<KokkosRuntime> kokkos;  // outlives what follows
  std::optional<Execution> execution;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<GemmEngine> gemm;
  std::unique_ptr<Model> model;

  /// Rows of a batch.
  [[nodiscard]] std::int64_t rows() const { return model->samples(); }
  [[nodiscard]] EvaluationReader reader(const Split& split) const;
  [[nodiscard]] InferenceContext context() const { return {*execution, *gemm, *model}; }
};

/// Opens `checkpoint` (a file, or a run's folder: its newest valid one) and the dataset that it is to be run
/// on
/// (`data`, or what `data_of` picks from the checkpoint's deck). Throws Error on all ranks.
[[nodiscard]] std::unique_ptr<TrainedModel> open_trained_model(
    const std::string& checkpoint, const std::string& data,
    const std::function<std::string(const DataOptions&)>& data_of);

}  // namespace mylos::app
