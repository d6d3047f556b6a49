// A small classification problem and trainers for it, for tests of the step.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/train/step/trainer.hpp"
#include "support/device_values.hpp"
#include "support/rounding.hpp"

namespace mylos::testing_support {

inline constexpr std::int64_t features = 12;
inline constexpr std::int64_t classes = 4;

/// Sample j of step s: random features, labelled by the largest of four fixed linear functions of them.
class SyntheticBatches final : public BatchSource {
 public:
  SyntheticBatches(const StepPlan& plan, int rank, int ranks, DType type)
      : plan_(plan),
        first_(plan.batch / ranks * rank + std::min<std::int64_t>(rank, plan.batch % ranks)),
        inputs_("inputs",
                aligned_bytes(static_cast<std::size_t>(plan.micro_batch * features) * sizeof(float))),
        labels_("labels", static_cast<std::size_t>(plan.micro_batch)),
        type_(type) {}

  MicroBatch next(const Execution&) override {
    const std::int64_t done = micro_ * plan_.micro_batch;
    const std::int64_t count = std::min(plan_.micro_batch, plan_.own_samples - done);
    const auto first = static_cast<std::uint64_t>(first_ + done);
    std::vector<float> values(static_cast<std::size_t>(count * features));
    std::vector<std::int32_t> labels;
    for (std::int64_t row = 0; row < count; ++row)
      labels.push_back(draw(values.data() + row * features, first, row));
    Kokkos::fence();  // the step before may still read them
    const Tensor inputs = inputs_.tensor(0, type_, count, features);
    test::set_values(inputs, values);
    test::copy_to_device(labels.data(), labels_.data(), labels.size() * sizeof(std::int32_t));
    if (++micro_ == plan_.micro_batches) {
      micro_ = 0;
      ++step_;
    }
    return {inputs, {.labels = labels_.data()}, first};
  }

  void seek(std::uint64_t step) {
    step_ = step;
    micro_ = 0;
  }

 private:
  /// Fills the row and returns its label.
  std::int32_t draw(float* row, std::uint64_t first, std::int64_t index) const {
    static const RandomStream stream(7, RandomPurpose::sampling, "synthetic");
    const std::uint64_t sample = first + static_cast<std::uint64_t>(index);
    for (std::int64_t i = 0; i < features; ++i) {
      row[i] = 2 * uniform_from(stream.word(step_, sample, static_cast<std::uint64_t>(i))) - 1;
    }
    std::int32_t best = 0;
    double best_score = -1e30;
    for (std::int32_t c = 0; c < classes; ++c) {
      double score = 0;
      for (std::int64_t i = 0; i < features; ++i)
        score += std::sin(1.0 + 3.0 * c + 0.7 * static_cast<double>(i)) * row[i];
      if (score > best_score) {
        best_score = score;
        best = c;
      }
    }
    return best;
  }

  StepPlan plan_;
  std::int64_t first_;
  std::int64_t micro_ = 0;
  std::uint64_t step_ = 0;
  Arena inputs_;
  Kokkos::View<std::int32_t*, Device> labels_;
  DType type_;
};

/// Options of a small MLP; tests change what they are about.
inline Options small_options(DType compute) {
  Options options;
  options.model.inputs = features;
  options.model.outputs = classes;
  options.model.hidden = {24, 16};
  options.data.batch = 32;
  options.run.steps = 100;
  options.precision.compute = compute;
  options.optimizer.lr = 5e-3;
  options.communication.timeout_s = 30;
  return options;
}

/// What a deck of this compute type may say.
inline std::vector<MasterWeights> masters_with(DType compute) {
  if (compute == DType::fp32) return {MasterWeights::fp32};
  return {MasterWeights::fp32, MasterWeights::none};
}

/// A trainer with all that it stands on.
struct SmallRun {
  Options options;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<EngineSet> engines;
  StepPlan plan;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<SyntheticBatches> batches;

  /// `change_chain` may wrap blocks before the trainer is built.
  template <class ChangeChain>
  SmallRun(const Options& given, ChangeChain&& change_chain) : options(given) {
    communicator = make_communicator(MPI_COMM_WORLD, options.communication);
    engines = make_engines(options.kernels);
    NetworkPlan network = plan_network(options, communicator->rank(), communicator->size());
    plan = network.step;
    const DType input_type = network.chain.input_type();
    change_chain(network.chain);
    trainer = std::make_unique<Trainer>(network, *engines, *communicator, options.run.steps);
    batches =
        std::make_unique<SyntheticBatches>(plan, communicator->rank(), communicator->size(), input_type);
  }
  explicit SmallRun(const Options& given) : SmallRun(given, [](Chain&) {}) {}

  StepState step() {
    trainer->step(*batches, false);
    trainer->quiesce();
    return trainer->read_state();
  }
  /// All masters, in memory order.
  [[nodiscard]] std::vector<float> masters() const {
    std::vector<float> values;
    const ParameterStore& parameters = trainer->model().parameters();
    for (const ParameterSlot& slot : parameters.layout().slots) {
      const std::vector<float> own = test::values_of(parameters.master(slot));
      values.insert(values.end(), own.begin(), own.end());
    }
    return values;
  }
};

}  // namespace mylos::testing_support
