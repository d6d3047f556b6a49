// A trainer and its batches as a run has them, read from a file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/builders.hpp"
#include "data/token_builders.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/train/step/staging.hpp"
#include "train/synthetic.hpp"

namespace mylos::testing_support {

inline constexpr std::int64_t images = 12000;  // more bytes than HDF5 keeps of a file
inline constexpr std::int64_t vocabulary = 96;

/// Made anew: tokens for a transformer, else images.
inline std::string write_data(const std::string& path, ModelType model) {
  if (model != ModelType::gpt) return write_images(path, images, features, classes);
  std::vector<std::uint16_t> tokens;
  for (std::int64_t i = 0; i < 3000; ++i) tokens.push_back(static_cast<std::uint16_t>(i * i % vocabulary));
  return write_tokens(path, tokens, vocabulary);
}

/// A trainer and its batches, read from a file by a thread of their own.
struct RunOnFile {
  explicit RunOnFile(const Options& given) : options(given) {
    options.data.train = write_data(folder / "train.h5", options.model.type);
    data = open_run_data(options, GroundTruth::required);
    const int rank = communicator->rank();
    const int ranks = communicator->size();
    const NetworkPlan network = plan_network(options, rank, ranks);
    const TrainingReader reading{.type = network.chain.input_type(),
                                 .micro_batch = options.data.micro_batch,
                                 .rank = rank,
                                 .ranks = ranks};
    trainer = std::make_unique<Trainer>(network, *engines, *communicator, options.run.steps);
    batches = std::make_unique<StagedBatches>(data->training_batches({}, reading), trainer->model().chain(),
                                              network.step.micro_batch);
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) trainer->step(*batches, false);
    trainer->quiesce();
  }

  TemporaryFolder folder;
  Options options;
  std::unique_ptr<RunData> data;
  std::unique_ptr<Communicator> communicator = make_communicator(MPI_COMM_WORLD, options.communication);
  std::unique_ptr<EngineSet> engines = make_engines(options.kernels);
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<StagedBatches> batches;
};

}  // namespace mylos::testing_support
