// TrainingModel: a chain of blocks with its parameters and the activation arena of one micro-batch.
//
// A micro-batch runs forward, loss and backward; gradients accumulate over the micro-batches of a step. An
// execution schedule lists the operations: which tensors are saved, and which ones backward() recomputes.
// Every schedule gives the same bits.
//
// In a rollout (RolloutChain) the chain runs several times in a micro-batch. Parameters, names and stages are
// those of one copy; the backward passes of all copies add to the same gradients, and a stage's gradients are
// complete after the backward pass of copy 0.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "mylos/model/chain/buffers.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/memory/placement.hpp"
#include "mylos/model/network/forward_pass.hpp"
#include "mylos/model/network/observer.hpp"
#include "mylos/model/network/schedule_pass.hpp"
#include "mylos/model/parameters/parameter_store.hpp"
#include "mylos/model/rollout/rollout_state.hpp"

namespace mylos {

/// Called with a stage's index when the gradients of its parameters are complete.
using BlockDone = std::function<void(std::size_t)>;

/// Is called with a block's index before any operation of the block runs.
using BeforeBlock = std::function<void(std::size_t)>;

/// The seed of one micro-batch: the gradients are those of scale · inverse_count · (sum of the losses of the
/// rows).
struct LossSeed {
  const float* scale = nullptr;  // device memory
  float inverse_count = 1;
  bool accumulate = false;  // add the head's gradients to the contents of the gradient arena
};

class TrainingModel {
 public:
  /// `layout` belongs to `chain`. `samples`: the maximum per micro-batch. Without a schedule everything is
  /// saved; an empty schedule allows only forward passes without backward. `rank`: the one whose slice of
  /// sharded masters the model holds. `engines` must outlive the model. `rollout`: copies of `chain`, or
  /// null; `schedule` is then for its planned() chain, and `shorter` has those of 1, 2, … copies, if it
  /// grows.
  TrainingModel(Chain chain, ParameterLayout layout, const Engines& engines, std::int64_t samples,
                std::optional<Schedule> schedule = std::nullopt, int rank = 0,
                const RolloutChain* rollout = nullptr, const std::vector<Schedule>& shorter = {});
  /// Does the same with a layout for `world` ranks, none of which shards its masters.
  TrainingModel(const Chain& chain, const Engines& engines, std::int64_t samples, std::int64_t bucket_bytes,
                int world, std::optional<Schedule> schedule = std::nullopt)
      : TrainingModel(chain, make_parameter_layout(chain, bucket_bytes, world), engines, samples,
                      std::move(schedule)) {}
  TrainingModel(const TrainingModel&) = delete;  // passes refer to its members
  TrainingModel& operator=(const TrainingModel&) = delete;

  [[nodiscard]] const Chain& chain() const { return chain_; }
  /// Returns the schedule of the current number of copies.
  [[nodiscard]] const Schedule& schedule() const { return program().schedule; }
  /// Returns the rollout's state, or null.
  [[nodiscard]] RolloutState* rollout() { return rollout_ ? &*rollout_ : nullptr; }
  /// Sets the copies of the next micro-batches; only in a rollout. Less than its steps: only if it grows.
  void use_copies(std::int64_t copies);
  [[nodiscard]] ParameterStore& parameters() { return parameters_; }
  [[nodiscard]] const ParameterStore& parameters() const { return parameters_; }
  /// Returns the tensors that are not trained.
  [[nodiscard]] const BufferStore& buffers() const { return buffers_; }
  [[nodiscard]] std::size_t activation_bytes() const { return arena_.bytes(); }
  /// Returns the memory of a model for micro-batches of `samples` samples, without activations, buffers and
  /// rollout.
  [[nodiscard]] static PartMemory memory(const Chain& chain, const ParameterLayout& layout,
                                         std::int64_t samples) {
    return {{"master weights", layout.master_bytes()},
            {"compute weights", layout.compute_bytes},
            {"gradients", layout.gradient_bytes},
            {"input gradients", input_gradient_bytes(chain, samples)},
            {"slices of gradients", layout.slice_bytes}};
  }
  /// The max samples of a micro-batch.
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  /// Passes in evaluation mode over this model's weights. They share its activations: a pass ends the
  /// micro-batch of an earlier forward().
  [[nodiscard]] ForwardPass& evaluation() { return *evaluation_; }

  /// Must be called before the first micro-batch of a step: sets the sums that update the buffers' state to
  /// zero.
  void begin_step(const Execution& exec);
  /// Updates the buffers' state after a step, when buffers().sums() are those of all ranks, unless *apply is
  /// 0 (device memory).
  void move_state(const Execution& exec, const std::int32_t* apply) const;

  /// Runs all blocks on input [rows, inputs]: in training up to the schedule's loss, otherwise without saving
  /// anything. In training `before_block` is called for blocks in forward order; for a block that is
  /// recomputed before the loss it is called more than once. In a rollout training reads rows of several
  /// steps; copies that run alone are passes 0, 1, …, each with its own loss and backward().
  void forward(const StepContext& context, const ConstTensor& input, const Observer* observer = nullptr,
               const BeforeBlock* before_block = nullptr, std::int64_t pass = 0);
  /// Returns the last block's output for the rows of the last forward().
  [[nodiscard]] const Tensor& output() const { return output_; }
  /// Returns the head's outputs (logits, predictions) for rows [first, first + count) of the last forward().
  [[nodiscard]] ConstTensor head_outputs(const StepContext& context, std::int64_t first, std::int64_t count);
  /// Adds the loss of the last forward() to `sums`.
  void loss(const StepContext& context, const Truth& truth, LossSums* sums);
  /// Does the same, and writes the head's gradients; seeds backward().
  void loss_and_seed(const StepContext& context, const Truth& truth, const LossSeed& seed, LossSums* sums,
                     const Observer* observer = nullptr);
  /// Seeds backward() with the gradient of a loss that the caller has computed: d_outputs [rows, outputs] of
  /// floats times (*scale * factor), rounded to the type of the output. *scale is in device memory. The head
  /// must have no parameters.
  void seed(const StepContext& context, const ConstTensor& d_outputs, const float* scale, float factor);
  /// Computes the gradients of all parameters; `accumulate` adds them to the contents of the gradient arena.
  /// `wants_input_gradient`: that of the input too; only if the chain has input_gradients. Recomputed
  /// operations are not observed again.
  void backward(const StepContext& context, bool accumulate, const BlockDone& block_done,
                const Observer* observer = nullptr, bool wants_input_gradient = false);
  /// Returns the gradient of the input [rows, inputs], in its type and scaled like the seed, that the last
  /// backward() computed if it was wanted.
  [[nodiscard]] ConstTensor input_gradient() const { return pass().input_gradient(0); }

  /// Returns whether blocks exchange statistics with the other ranks: all ranks must then make the same
  /// passes.
  [[nodiscard]] bool exchanges_in_passes() const { return exchanges_in_passes_; }
  /// Replaces forward() and backward(), or the part of them that an error has skipped: joins the collective
  /// calls of the other ranks. `zeros`: sets gradients to zero, because no micro-batch of this rank has
  /// written them.
  void join_collectives(const StepContext& context, bool zeros, const BeforeBlock& before_block,
                        const BlockDone& block_done) {
    join_rest_of_forward(context, before_block);
    join_backward(context, zeros, block_done);
  }
  /// Replaces one of them. join_backward() ends the pass.
  void join_forward(const StepContext& context, const BeforeBlock& before_block) {
    progress_ = {};
    join_rest_of_forward(context, before_block);
  }
  void join_backward(const StepContext& context, bool zeros, const BlockDone& block_done);

 private:
  [[nodiscard]] const PlacedSchedule& program() const { return programs_[program_]; }
  /// Returns the pass of the last forward() in training.
  [[nodiscard]] SchedulePass pass() const { return {program(), memory_, input_}; }
  /// Returns the programs of a rollout.
  void add_programs(const RolloutChain& rollout, const Engines& engines, std::int64_t rows,
                    std::optional<Schedule> schedule, const std::vector<Schedule>& shorter);
  /// Returns the stage of one copy.
  [[nodiscard]] std::size_t stage_of(std::size_t block) const {
    return stage_of_copy(block, chain_.blocks.size());
  }
  [[nodiscard]] ConstTensor begin_training(const StepContext& context, const ConstTensor& input,
                                           std::int64_t pass);
  /// Returns the context of the blocks, which read the rollout's step.
  [[nodiscard]] StepContext context_of_blocks(const StepContext& context) const;
  [[nodiscard]] LossMemory loss_memory() const;
  [[nodiscard]] const LossHead& head() const;
  void join_rest_of_forward(const StepContext& context, const BeforeBlock& before_block);
  Chain chain_;  // one copy
  ParameterStore parameters_;
  BufferStore buffers_;
  bool exchanges_in_passes_;
  std::int64_t samples_;
  std::vector<PlacedSchedule> programs_;  // by number of copies, or by copies that run alone
  std::size_t program_ = 0;
  std::optional<RolloutState> rollout_;
  Arena arena_;
  Arena input_gradients_;  // empty unless the chain has input_gradients
  PassMemory::StageTensors weights_;
  PassMemory::StageTensors gradients_;
  PassMemory memory_{weights_, gradients_, buffers_, arena_, input_gradients_, samples_};
  std::optional<ForwardPass> evaluation_;  // on the tensors above
  bool trains_ = false;                    // the last forward()
  /// How far the passes of a micro-batch are.
  struct Progress {
    std::size_t forward = 0;   // blocks that have run; recomputation does not count
    std::size_t backward = 0;  // stages whose gradients are complete, from the last one
  };
  Progress progress_;
  ConstTensor input_;  // of the last forward()
  Tensor output_;
};

}  // namespace mylos
