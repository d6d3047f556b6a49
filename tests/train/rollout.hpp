// Trajectories for rollouts and trainers on them, for tests of the step and of its plan.
#pragma once

#include <memory>
#include <vector>

#include "model/guarded_block.hpp"
#include "model/reference_rollout.hpp"
#include "mylos/train/plan/assembly.hpp"
#include "train/memory_world.hpp"

namespace mylos::rollout_support {

using namespace testing_support;  // NOLINT
using test::RolloutCase;

inline constexpr std::int64_t batch_size = 16;

inline Options options_of(const RolloutCase& of) {
  Options options;
  options.model = test::rollout_model(of);
  options.rollout = test::rollout_options(of);
  options.precision.compute = of.compute;
  options.data.batch = batch_size;
  options.run.steps = 100;
  options.optimizer.lr = 1e-2;
  options.communication.timeout_s = 30;
  return options;
}

/// Sample j of step s: a random first level, and states that rotate from step to step.
class Trajectories final : public BatchSource {
 public:
  Trajectories(const StepPlan& plan, int rank, int ranks, const Chain& chain, const RolloutCase& of)
      : plan_(plan),
        case_(of),
        first_(batch_share(plan.batch, rank, ranks).first),
        type_(chain.input_type()),
        row_(chain.training_inputs > 0 ? chain.training_inputs : chain.inputs()),
        target_row_(chain.training_targets > 0 ? chain.training_targets : chain.outputs()),
        inputs_("inputs", aligned_bytes(static_cast<std::size_t>(plan.micro_batch * row_) * sizeof(float))),
        targets_("targets", static_cast<std::size_t>(plan.micro_batch * target_row_) * sizeof(float)) {}

  MicroBatch next(const Execution&) override {
    const std::int64_t done = micro_ * plan_.micro_batch;
    const std::int64_t count = std::min(plan_.micro_batch, plan_.own_samples - done);
    std::vector<float> rows;
    std::vector<float> targets;
    for (std::int64_t i = 0; i < count; ++i) draw(first_ + done + i, rows, targets);
    Kokkos::fence();  // the step before may still read them
    const Tensor inputs = inputs_.tensor(0, type_, count, row_);
    test::set_values(inputs, rows);
    test::copy_to_device(targets.data(), targets_.data(), targets.size() * sizeof(float));
    if (++micro_ == plan_.micro_batches) {
      micro_ = 0;
      ++step_;
    }
    return {inputs,
            {.targets = reinterpret_cast<const float*>(targets_.data())},
            static_cast<std::uint64_t>(first_ + done)};
  }
  void seek(std::uint64_t step) { step_ = step; }

 private:
  void draw(std::int64_t sample, std::vector<float>& rows, std::vector<float>& targets) const {
    static const RandomStream stream(7, RandomPurpose::sampling, "trajectories");
    const std::int64_t row_channels = row_ / test::rollout_points;
    for (std::int64_t p = 0; p < test::rollout_points; ++p) {
      const auto number = [&](std::int64_t i) {
        return 2 * uniform_from(stream.word(step_, static_cast<std::uint64_t>(sample),
                                            static_cast<std::uint64_t>(p * row_channels + i))) -
               1;
      };
      for (std::int64_t c = 0; c < row_channels; ++c) rows.push_back(number(c));
      float u = number(test::level);
      float v = number(test::level + 1);
      for (std::int64_t k = 0; k < target_row_ / test::rollout_points / test::states; ++k) {
        const float turned = 0.8f * u - 0.6f * v;
        v = 0.6f * u + 0.8f * v;
        u = turned;
        targets.push_back(u);
        targets.push_back(v);
      }
    }
  }

  StepPlan plan_;
  RolloutCase case_;
  std::int64_t first_;
  DType type_;
  std::int64_t row_;
  std::int64_t target_row_;
  std::int64_t micro_ = 0;
  std::uint64_t step_ = 0;
  Arena inputs_, targets_;
};

/// A trainer with its batches.
struct RolloutRun {
  World world;
  NetworkPlan network;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Trajectories> batches;

  RolloutRun(const RolloutCase& of, const Options& options) : world(options), network(world.network()) {
    trainer = std::make_unique<Trainer>(network, *world.engines, *world.communicator, options.run.steps);
    open(of);
  }
  explicit RolloutRun(const RolloutCase& of) : RolloutRun(of, options_of(of)) {}
  /// With a plan, as a run.
  RolloutRun(const RolloutCase& of, const Options& options, const MemoryPlan& plan)
      : world(options), network(world.network()) {
    trainer = std::make_unique<Trainer>(network, *world.engines, *world.communicator, options.run.steps,
                                        plan.plan.schedule, schedules_of_growth(*network.rollout, plan));
    open(of);
  }

  void open(const RolloutCase& of) {
    batches = std::make_unique<Trajectories>(network.step, world.communicator->rank(),
                                             world.communicator->size(), network.chain, of);
  }
  StepState step() {
    trainer->step(*batches, false);
    trainer->quiesce();
    return trainer->read_state();
  }
  /// Moves to a step, as a restart does.
  void move_to(std::uint64_t step) {
    StepState state = trainer->read_state();
    state.step = step;
    trainer->write_state(state);
    batches->seek(step);
  }
  [[nodiscard]] std::vector<float> weights() const {
    std::vector<float> values;
    const ParameterStore& parameters = trainer->model().parameters();
    for (const ParameterSlot& slot : parameters.layout().slots) {
      const std::vector<float> own = test::values_of(parameters.compute_weight(slot));
      values.insert(values.end(), own.begin(), own.end());
    }
    return values;
  }
};

}  // namespace mylos::rollout_support
