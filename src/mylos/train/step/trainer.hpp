// Trainer: model, optimizer and loss scaler, and the training step.
//
// A step allocates nothing and copies nothing to the host. It waits only for other ranks and for data that
// have not arrived. Scaler, skip, learning rate and counters live on the device; the host reads them between
// steps. Every step therefore launches the same kernels, and a device launches them as a few graphs
// (StepRecorder). Steps of several ranks that are captured leave no collective in flight between two graphs:
// the pass that ends the backward pass completes the reductions, and the update starts with the next forward
// pass.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mylos/base/device/device_array.hpp"
#include "mylos/base/device/memory_entry.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/model/network/training_model.hpp"
#include "mylos/optim/gradients/gradient_reduction.hpp"
#include "mylos/optim/gradients/micro_batch_tree.hpp"
#include "mylos/optim/gradients/sample_exchange.hpp"
#include "mylos/optim/gradients/statistics_exchange.hpp"
#include "mylos/optim/update/optimizer.hpp"
#include "mylos/optim/update/step_state.hpp"
#include "mylos/optim/update/weight_update.hpp"
#include "mylos/precision/gradient_check.hpp"
#include "mylos/train/step/batch_source.hpp"
#include "mylos/train/step/health_record.hpp"
#include "mylos/train/step/network_plan.hpp"
#include "mylos/train/step/quiesced.hpp"
#include "mylos/train/step/step_recorder.hpp"
#include "mylos/train/step/step_waits.hpp"

namespace mylos {

/// A loss that the program computes: how its gradients are scaled in a pass, and weighted at the end.
struct OwnLoss {
  float seed_factor = 1;  // of dL/dy, besides the loss scale: a power of two, so that the product is exact
  bool by_rows = false;   // gradients and loss are divided by the rows of all ranks
  double weight = 1;      // of the reduced gradients, which makes up for seed_factor and for BatchMean
};

/// The end of a step with such a loss.
struct OwnStepEnd {
  std::optional<double> lr;    // instead of the learning-rate schedule
  std::optional<double> loss;  // this rank's part
};

class Trainer {
 public:
  /// Allocates all memory and draws the initial weights. `network` is that of the communicator's rank and
  /// ranks. `run_steps` is the length of the run, for the learning-rate schedule. `schedule` is the execution
  /// schedule of a micro-batch; without it every activation is stored. `shorter`: those of 1, 2, … copies of
  /// a rollout that grows. `communicator` and `engines` must outlive the trainer.
  Trainer(const NetworkPlan& network, const Engines& engines, Communicator& communicator,
          std::int64_t run_steps, std::optional<Schedule> schedule = std::nullopt,
          const std::vector<Schedule>& shorter = {});

  /// Trains one step on the next micro-batches. The gradient is that of the mean loss over the samples of all
  /// ranks. A rank may have fewer samples than planned, or none. `stop_requested` is called after the
  /// gradients are computed; the ranks exchange its result in the agreement. If `batches` throws, this rank
  /// still joins the step's collectives and the error reaches all ranks: see throw_if_failed(). The gathers
  /// of the new weights may end only during the next step: see quiesce().
  void step(BatchSource& batches, const std::function<bool()>& stop_requested);
  void step(BatchSource& batches, bool stop_requested) {
    step(batches, [stop_requested] { return stop_requested; });
  }
  /// A step with the program's own loss, in parts: any number of pairs forward(), backward() on each rank,
  /// then end_step() on all. If passes exchange statistics, all ranks make the same calls, with input.rows()
  /// = 0 on a rank without samples. forward() runs `input` in training mode and writes the head's outputs to
  /// `outputs`, in float. `first_sample`: index of its first sample among those of the step, the key of
  /// dropout.
  void forward(const ConstTensor& input, std::uint64_t first_sample, const Tensor& outputs);
  /// Adds the gradients of the last forward(): d_outputs [rows, outputs] is dL/dy in float. `d_input`, unless
  /// it is empty, receives dL/dx in float. Sharded gradients are reduced here: one pass in a step.
  void backward(const ConstTensor& d_outputs, const OwnLoss& loss, const Tensor& d_input);
  /// Writes the gradient of a parameter, by its slot, to `gradient` [1, values] in float: the sum of this
  /// rank's passes since the last step, without the loss scale; 0 of a frozen parameter, and if the rank had
  /// no samples. Not for sharded gradients.
  void read_own_gradient(std::size_t slot, const OwnLoss& loss, const Tensor& gradient);
  /// Ends the step as step() does. An error of bring_error() reaches all ranks.
  void end_step(const OwnLoss& loss, const OwnStepEnd& end);
  /// Forgets the passes since the last step.
  void discard_passes() { passes_done_ = {}; }
  /// Returns whether ranks ended the last step by different calls, or with different arguments.
  [[nodiscard]] bool calls_differed() const { return agreement_.read(exec_).calls_differ != 0; }
  /// Returns the loss whose dL/dy the program passes: of all samples, or the sum over samples of a loss whose
  /// mean counts.
  [[nodiscard]] OwnLoss own_loss(bool is_mean) const;
  struct Passes {
    bool is_forward_done = false;  // backward() may follow
    std::int64_t backward = 0;     // passes whose gradients are in the sums
    std::int64_t rows = 0;         // of these
  };
  [[nodiscard]] const Passes& passes() const { return passes_done_; }
  /// Ends the pass of a forward() whose activations are overwritten.
  void forget_forward() { passes_done_.is_forward_done = false; }

  /// All ranks, after a step. Waits until the gathers of the step's update have ended and, if collectives run
  /// on the device, for these too: MPI and NCCL traffic must not be in flight together. Required before
  /// anything but the next step reads weights, masters or moments, or ranks exchange anything else.
  Quiesced quiesce();
  /// Computes the gradients of this rank's samples as a step does, and passes the result of every operation
  /// to `observer`. The gradients are not reduced.
  void observe_gradients(BatchSource& batches, const Observer& observer);
  /// Reports an error of this rank alone between steps. It reaches all ranks with the next step's agreement.
  void bring_error(const Error& error) {
    if (!error_) error_ = error;
  }

  /// Returns the state after the last step. Waits for a device that is not the host.
  [[nodiscard]] StepState read_state() const;
  void write_state(const StepState& state);
  /// In a rollout: sets how outputs become inputs, of every channel of the input (FeedbackStore).
  void set_feedback(std::span<const FeedbackScaling> scalings) {
    if (RolloutState* const rollout = model_.rollout()) rollout->store().set_scaling(scalings);
  }
  /// Returns the loss scaler's state before the first step.
  [[nodiscard]] const ScalerState& initial_scaler() const { return initial_scaler_; }
  /// Returns the records of the steps (from, to], oldest first. Throws Error if there are more than
  /// record_capacity: the oldest have been overwritten.
  [[nodiscard]] std::vector<StepRecord> read_records(std::uint64_t from, std::uint64_t to) const;
  static constexpr std::int64_t record_capacity = 1024;
  /// All ranks. Returns the health of every parameter, by slot, at those steps of (from, to] that
  /// health.every divides, oldest first; at most health_capacity of them.
  [[nodiscard]] std::vector<HealthRecord> read_health(const Quiesced& quiet, std::uint64_t from,
                                                      std::uint64_t to) const;
  static constexpr std::int64_t health_capacity = 16;

  /// All ranks, if read_state() has halted. Throws on all ranks if one had an error in the last step, which
  /// is then cleared, or if their loss scales differ.
  void throw_if_failed(const Quiesced& quiet);
  [[nodiscard]] bool exhausted(const StepState& state) const { return rule_.scaler.exhausted(state.scaler); }

  [[nodiscard]] bool scale_is_dynamic() const { return rule_.scaler.dynamic; }
  /// Changes the growth of the loss scale (ScalerOptions) from the next step on.
  void change_growth(std::int64_t interval, double factor) {
    rule_.scaler.growth_interval = interval;
    rule_.scaler.growth_factor = static_cast<float>(factor);
    recorder_.forget();  // kernels have a copy of the rule
  }

  /// Required after GEMMs are assigned to other engines: captured steps contain the old ones.
  void forget_recordings() { recorder_.forget(); }
  /// Returns, once, why steps cannot be captured although the options ask for it.
  [[nodiscard]] std::string take_recording_refusal() { return recorder_.take_refusal(); }

  /// Returns what the host waited for in all steps so far.
  [[nodiscard]] const StepWaits& waits() const { return waits_; }
  /// Takes back what has been waited for since: the exchanges of evaluations are not those of steps.
  void restore_waits(const StepWaits& waits) { waits_ = waits; }

  [[nodiscard]] const Execution& execution() const { return exec_; }
  [[nodiscard]] Communicator& communicator() const { return communicator_; }
  [[nodiscard]] TrainingModel& model() { return model_; }
  [[nodiscard]] const TrainingModel& model() const { return model_; }
  [[nodiscard]] const Optimizer& optimizer() const { return optimizer_; }
  /// Sets the average of the weights to the current weights.
  void begin_average() { optimizer_.begin_average(exec_, model_.parameters()); }
  /// Returns what this rank has sent to those that share its samples.
  [[nodiscard]] SampleTraffic exchanged() const {
    return sample_exchange_ ? sample_exchange_->sent() : SampleTraffic();
  }
  /// Returns what the ranks that share samples exchange in passes; null: samples are whole.
  [[nodiscard]] SampleRanks* sample_ranks() { return sample_exchange_ ? &*sample_exchange_ : nullptr; }
  /// All ranks. Derives the compute weights from masters that were read from a file.
  void refresh_weights() { update_.refresh(exec_); }
  /// Returns the memory of the trainer itself: of its records, and of what it checks and agrees on.
  [[nodiscard]] static PartMemory memory(const NetworkPlan& network);

 private:
  /// Computes the gradients of this rank's samples. `block_done` is called for the last micro-batch.
  void compute_gradients(BatchSource& batches, const BlockDone& block_done,
                         const Observer* observer = nullptr);
  /// If passes exchange statistics: joins the collectives of micro-batch `i` of a step, for which this rank
  /// has no samples or has failed.
  void join_collectives(std::int64_t i, const BlockDone& block_done);
  /// Does the same. Where all ranks launch the pass as a graph makes it on an earlier batch, and where ranks
  /// share samples on one of zeros.
  void pass_without_batch(std::int64_t i, const BlockDone& block_done);
  [[nodiscard]] PassOfStep pass_of_step(std::int64_t i);
  /// Adds the gradients of micro-batch `i` to those of the previous ones, by captured kernels if there are
  /// any.
  void pass_or_replay(std::int64_t i, const MicroBatch& batch, const BlockDone& block_done,
                      const Observer* observer);
  /// Returns whether parts of this step may be captured.
  [[nodiscard]] bool records_step() const { return communicator_.size() == 1 || captures_ranks_; }
  /// Takes back what a pass has changed on the host: its capture has failed.
  void undo_capture();
  void forward_and_backward(const MicroBatch& batch, bool accumulate, const BlockDone& block_done,
                            const Observer* observer);
  /// Called before the forward pass reads a block: waits for its weights of the last step.
  void await_weights(std::size_t block);
  /// Called after a block's last backward pass in a step: starts the reduction of its gradients.
  void reduce_gradients(std::size_t block);
  /// Sets the sums of a step to zero, before its first pass.
  void begin_passes();
  /// Returns the context of a pass of training.
  [[nodiscard]] StepContext context_of(std::uint64_t first_sample) {
    return {.exec = exec_,
            .engines = engines_,
            .step = &state_.data()->step,
            .first_sample = first_sample,
            .ranks = &statistics_,
            .sample_ranks = sample_ranks()};
  }
  /// Returns whether a pass contains exchanges with other ranks.
  [[nodiscard]] bool exchanges_in_passes() const {
    return model_.exchanges_in_passes() || sample_exchange_.has_value();
  }
  /// Waits for collectives that run on the device, before the program uses MPI.
  void finish_collectives() {
    if (communicator_.runs_on_device()) communicator_.synchronize(exec_);
  }
  /// Turns the gradients of all ranks into one update or a skipped step.
  void conclude(bool stop_requested);
  /// Completes the update of the last step and the reductions of this one.
  void complete_exchanges();
  /// Computes the next step's state from the reduced gradients.
  void decide_and_update();
  /// Returns an address in device memory.
  [[nodiscard]] const float* loss_scale() const { return &state_.data()->scaler.scale; }

  const std::shared_ptr<const Execution> execution_;
  const Execution& exec_;  // the same
  Communicator& communicator_;
  Engines engines_;
  StepPlan plan_;
  StepWaits waits_;
  TrainingModel model_;
  const BatchMean mean_;
  std::optional<MicroBatchTree> tree_;  // only in reproducible runs
  GradientReduction reduction_;
  StatisticsExchange statistics_;
  std::optional<SampleExchange> sample_exchange_;
  const std::int64_t passes_;  // micro-batches of a step, including those that only other ranks may have
  Optimizer optimizer_;
  WeightUpdate update_;
  GradientCheck check_;
  AgreementBuffer agreement_;
  StepRule rule_;
  const ScalerState initial_scaler_;
  StepInput input_;  // of the current step
  DeviceArray<StepInput> step_input_;
  DeviceArray<StepState> state_;
  DeviceArray<LossSums> sums_;
  DeviceArray<StepRecord> records_;
  const BlockDone reduce_gradients_;
  const BlockDone keep_gradients_;  // after a micro-batch that is not the step's last
  const BeforeBlock await_weights_;
  std::vector<std::vector<Tensor>> frozen_gradients_;  // by stage
  bool drops_;                                         // random numbers depend on the offset of a micro-batch
  const RolloutOptions rollout_;
  std::uint64_t steps_ = 0;    // as StepState::step
  Passes passes_done_;         // with the program's own loss
  std::int64_t own_rows_ = 0;  // of the last forward() of these, as the next
  std::uint64_t own_first_sample_ = 0;
  bool captures_ranks_ = false;      // this step's collectives may be captured
  bool is_reduced_ = false;          // a pass of this step has completed the reductions
  bool update_was_pending_ = false;  // before the last pass
  std::int64_t buffers_ = 0;         // of this step's batches, as the next
  std::int64_t first_buffer_ = 0;
  StepRecorder recorder_;
  std::optional<Error> error_;
};

}  // namespace mylos
