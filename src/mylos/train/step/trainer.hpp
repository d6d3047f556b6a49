// Trainer: model, optimizer and loss scaler, and the step that moves them.
//
// A step allocates nothing, waits for nothing but the other ranks and data that are not there yet, and copies
// nothing to the host: scaler, skip, learning rate and counters live on the device. What happened is read
// from there between steps. So the kernels of one step are those of any other, and of one rank that has a
// device they are recorded and launched together.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "mylos/base/device/work_recorder.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/config/options.hpp"
#include "mylos/model/network/model.hpp"
#include "mylos/optim/gradients/gradient_reduction.hpp"
#include "mylos/optim/gradients/micro_batch_tree.hpp"
#include "mylos/optim/gradients/statistics_exchange.hpp"
#include "mylos/optim/update/optimizer.hpp"
#include "mylos/optim/update/step_state.hpp"
#include "mylos/optim/update/weight_update.hpp"
#include "mylos/precision/gradient_check.hpp"
#include "mylos/train/step/batch_source.hpp"
#include "mylos/train/step/health_record.hpp"
#include "mylos/train/step/step_plan.hpp"
#include "mylos/train/step/step_waits.hpp"

namespace mylos {

class Trainer {
 public:
  /// Allocates everything and draws the initial weights. `run_steps`: length of the run, for the schedule.
  /// `schedule`: the operations of a micro-batch; without it everything is kept. `communicator` and `gemm`
  /// must outlive the trainer.
  Trainer(const Options& options, Chain chain, GemmEngine& gemm, Communicator& communicator,
          const StepPlan& plan, std::int64_t run_steps, std::optional<Schedule> schedule = std::nullopt);

  /// One step over the next micro-batches: the gradient is that of the mean over all samples that the ranks'
  /// batches have, which may be fewer than planned, and none on some. `stop_requested` is called once the
  /// gradients are computed; its answer travels with the agreement. If `batches` throws, this rank still
  /// takes part in the step's collectives and the error reaches all ranks: see throw_if_failed().
  /// The new weights may come to all ranks during the next step only: see finish_update().
  void step(BatchSource& batches, const std::function<bool()>& stop_requested);
  void step(BatchSource& batches, bool stop_requested) {
    step(batches, [stop_requested] { return stop_requested; });
  }
  /// All ranks, after a step: before anybody but the next step reads weights, masters or moments, or ranks
  /// exchange anything else.
  void finish_update() { update_.finish(exec_); }
  /// A step's first part again, with a look at what every operation leaves: gradients of this rank's samples,
  /// which go nowhere.
  void observe_gradients(BatchSource& batches, const Observer& observer);
  /// For an error of this rank alone, between steps: it reaches all ranks with the next step's agreement.
  void bring_error(const Error& error) {
    if (!error_) error_ = error;
  }

  /// What the device knows after the last step. Waits for it where it is not the host.
  [[nodiscard]] StepState read_state() const;
  void write_state(const StepState& state);
  /// The loss scaler's state before the first step.
  [[nodiscard]] const ScalerState& initial_scaler() const { return initial_scaler_; }
  /// The records of the steps (from, to], oldest first. Throws Error where those are more than
  /// record_capacity: the first are gone.
  [[nodiscard]] std::vector<StepRecord> read_records(std::uint64_t from, std::uint64_t to) const;
  static constexpr std::int64_t record_capacity = 1024;
  /// All ranks, after finish_update(): what the steps (from, to] of which health.every is a divisor tell of
  /// each parameter, by its slot, oldest first; at most health_capacity of them.
  [[nodiscard]] std::vector<HealthRecord> read_health(std::uint64_t from, std::uint64_t to) const;
  static constexpr std::int64_t health_capacity = 16;

  /// Throws on all ranks if any had an error in the last step, and forgets it; and where their loss scales
  /// differ. Call it on all ranks, where read_state() says halted.
  void throw_if_failed();
  [[nodiscard]] bool exhausted(const StepState& state) const { return rule_.scaler.exhausted(state.scaler); }

  [[nodiscard]] bool scale_is_dynamic() const { return rule_.scaler.dynamic; }
  /// Of the loss scale, from the next step on; as in ScalerOptions.
  void change_growth(std::int64_t interval, double factor) {
    rule_.scaler.growth_interval = interval;
    rule_.scaler.growth_factor = static_cast<float>(factor);
    recorder_.forget();  // kernels have a copy of the rule
  }

  /// Once products are to be computed by other algorithms: what was recorded has the old ones.
  void forget_recordings() { recorder_.forget(); }
  /// Why steps are not recorded, though they should be; once.
  [[nodiscard]] std::string take_recording_refusal() { return recorder_.take_refusal(); }

  /// What held up the host in all steps so far.
  [[nodiscard]] const StepWaits& waits() const { return waits_; }

  [[nodiscard]] const Execution& execution() const { return exec_; }
  [[nodiscard]] Communicator& communicator() const { return communicator_; }
  [[nodiscard]] Model& model() { return model_; }
  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const Optimizer& optimizer() const { return optimizer_; }
  /// The average of the weights begins with what they are.
  void begin_average() { optimizer_.begin_average(exec_, model_.parameters()); }
  /// All ranks. Compute weights of masters that were read from a file.
  void refresh_weights() { update_.refresh(exec_); }
  /// What a trainer takes beside model, moments and communication.
  [[nodiscard]] static std::size_t record_bytes(const OptimizerOptions& optimizer,
                                                const ParameterLayout& layout, int ranks, bool reproducible);
  /// What it takes to look at parameters' health.
  [[nodiscard]] static std::size_t health_bytes(const HealthOptions& options, const ParameterLayout& layout);

 private:
  /// Of this rank's samples. `block_done` hears of the last micro-batch.
  void compute_gradients(BatchSource& batches, const BlockDone& block_done,
                         const Observer* observer = nullptr);
  /// In a network whose passes exchange statistics: takes part in the other ranks' `first` to `last` of a
  /// step, of which this rank has no samples, or cannot compute them.
  void join_collectives(std::int64_t first, std::int64_t last, const BlockDone& block_done);
  /// Adds those of a micro-batch to those of the ones before it: by kernels that were recorded, where they
  /// were.
  void pass_or_replay(const MicroBatch& batch, const BlockDone& block_done, const Observer* observer);
  void forward_and_backward(const MicroBatch& batch, bool accumulate, const BlockDone& block_done,
                            const Observer* observer);
  /// Before the forward pass reads a block: its weights of the last step have come to this rank.
  void await_weights(std::size_t block);
  /// Behind a block's last backward pass in a step: its gradients begin to travel.
  void reduce_gradients(std::size_t block);
  /// All ranks' gradients become one update, or none.
  void conclude(bool stop_requested);
  /// From the sums of gradients to the next step's state.
  void decide_and_update();
  /// In device memory.
  [[nodiscard]] const float* loss_scale() const { return &state_.data()->scaler.scale; }

  const Execution exec_;
  Communicator& communicator_;
  GemmEngine& gemm_;
  StepPlan plan_;
  StepWaits waits_;
  Model model_;
  const BatchMean mean_;
  std::optional<MicroBatchTree> tree_;  // of a reproducible run
  GradientReduction reduction_;
  StatisticsExchange statistics_;
  const std::int64_t passes_;  // of a step: micro-batches, with those that other ranks alone may have
  Optimizer optimizer_;
  WeightUpdate update_;
  GradientCheck check_;
  AgreementBuffer agreement_;
  StepRule rule_;
  const ScalerState initial_scaler_;
  StepInput input_;  // of the step that is made
  Kokkos::View<StepInput, Device> step_input_;
  Kokkos::View<StepState, Device> state_;
  Kokkos::View<LossSums, Device> sums_;
  Kokkos::View<StepRecord*, Device> records_;
  const BlockDone reduce_gradients_;
  const BlockDone keep_gradients_;  // behind a micro-batch that others follow
  const BeforeBlock await_weights_;
  std::vector<std::vector<Tensor>> frozen_gradients_;  // of each stage
  bool drops_;
  WorkRecorder recorder_;
  std::optional<Error> error_;
};

}  // namespace mylos
