// What a memory plan is made from and a trainer is made by, for tests of the bytes that it takes.
#pragma once

#include <memory>

#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/train/plan/memory_plan.hpp"
#include "train/synthetic.hpp"

namespace mylos::testing_support {

inline Options small_gpt(DType compute) {
  Options options = small_options(compute);
  options.model = {};
  options.model.type = ModelType::gpt;
  options.model.layers = 3;
  options.model.heads = 2;
  options.model.width = 32;
  options.model.context = 16;
  options.model.vocabulary = 96;
  options.model.dropout = 0.1;
  return options;
}

struct World {
  Options options;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<EngineSet> engines;

  explicit World(const Options& given)
      : options(given),
        communicator(make_communicator(MPI_COMM_WORLD, given.communication)),
        engines(make_engines(given.kernels)) {}

  [[nodiscard]] NetworkPlan network() const {
    return plan_network(options, communicator->rank(), communicator->size());
  }
  [[nodiscard]] MemoryProblem problem(std::size_t budget) const {
    return {.network = network(),
            .engines = *engines,
            .processes = {communicator->size(), 0},
            .data = nullptr,
            .budget = budget};
  }

  [[nodiscard]] std::unique_ptr<Trainer> trainer(const MemoryPlan& plan) const {
    return std::make_unique<Trainer>(network(), *engines, *communicator, options.run.steps,
                                     plan.plan.schedule);
  }
};

}  // namespace mylos::testing_support
