// Model: a chain of blocks with its parameters and the activation arena of one micro-batch.
//
// forward → loss → backward for a micro-batch; gradients are added up over the micro-batches of a step. A
// schedule says which operations that takes: what is kept, and what backward() computes again. Every schedule
// gives the same bits.
#pragma once

#include <functional>
#include <optional>

#include "mylos/model/chain/buffers.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/memory/placement.hpp"
#include "mylos/model/parameters/parameter_store.hpp"

namespace mylos {

/// The operations of a step and where each left its tensors; called after each, for checks.
struct Observation {
  std::size_t block = 0;    // stage of the chain
  const char* tensor = "";  // "input", "weight", "output", "output gradient", "weight gradient", ...
  Tensor value;
};
using Observer = std::function<void(const Observation&)>;

/// Called with a stage's index when the gradients of its parameters are complete.
using BlockDone = std::function<void(std::size_t)>;

/// Called with a block's index before anything of it runs.
using BeforeBlock = std::function<void(std::size_t)>;

/// Of one micro-batch: the gradients are those of scale · inverse_count · (sum of the rows' losses).
struct LossSeed {
  const float* scale = nullptr;  // device memory
  float inverse_count = 1;
  bool accumulate = false;  // add the head's gradients to what the gradient arena holds
};

class Model {
 public:
  /// `samples`: the most of a micro-batch. Without a schedule everything is kept; an empty one is for forward
  /// passes without backward only. `rank`, `shard_owners`: which slice of the masters it holds, over how many
  /// ranks they are cut. `window`: that of make_parameter_layout(). `gemm` must outlive the model.
  Model(Chain chain, GemmEngine& gemm, std::int64_t samples, std::int64_t bucket_bytes, int world,
        std::optional<Schedule> schedule = std::nullopt, int rank = 0, int shard_owners = 1,
        std::size_t window = 0);

  [[nodiscard]] const Chain& chain() const { return chain_; }
  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] ParameterStore& parameters() { return parameters_; }
  [[nodiscard]] const ParameterStore& parameters() const { return parameters_; }
  /// What is kept beside the weights and is not trained.
  [[nodiscard]] const BufferStore& buffers() const { return buffers_; }
  [[nodiscard]] std::size_t activation_bytes() const { return arena_.bytes(); }
  /// The most samples of a micro-batch.
  [[nodiscard]] std::int64_t samples() const { return samples_; }

  /// Before the first micro-batch of a step: the sums by which the buffers' state moves are zero.
  void begin_step(const Execution& exec);
  /// After a step, once buffers().sums() are those of all ranks: moves the buffers' state, unless *apply is 0
  /// (device memory).
  void move_state(const Execution& exec, const std::int32_t* apply) const;

  /// Runs all blocks on input [rows, inputs]: up to the schedule's loss, or, where the context does not
  /// train, with nothing kept. `before_block` hears of blocks in forward order, when it trains; of one that
  /// is computed again before the loss more than once.
  void forward(const StepContext& context, const Tensor& input, const Observer* observer = nullptr,
               const BeforeBlock* before_block = nullptr);
  /// The last block's output for the rows of the last forward().
  [[nodiscard]] const Tensor& output() const { return output_; }
  /// The head's outputs (logits, predictions) for rows [first, first + count) of the last forward().
  [[nodiscard]] Tensor head_outputs(const StepContext& context, std::int64_t first, std::int64_t count);
  /// Adds the loss of the last forward() to `sums`.
  void loss(const StepContext& context, const Truth& truth, LossSums* sums);
  /// The same, and the head's gradients; seeds backward().
  void loss_and_seed(const StepContext& context, const Truth& truth, const LossSeed& seed, LossSums* sums,
                     const Observer* observer = nullptr);
  /// Gradients of all parameters; `accumulate` adds them to what the gradient arena holds. Operations that
  /// are run again are not observed again.
  void backward(const StepContext& context, bool accumulate, const BlockDone& block_done,
                const Observer* observer = nullptr);

  /// Whether blocks exchange statistics with the other ranks: all of them then make the same passes.
  [[nodiscard]] bool exchanges_in_passes() const { return exchanges_in_passes_; }
  /// In place of the three above, or of what of them an error has cut off: takes part in what the other ranks
  /// exchange. `zeros`: gradients are set to zero, as no micro-batch of this rank has written them.
  void join_collectives(const StepContext& context, bool zeros, const BeforeBlock& before_block,
                        const BlockDone& block_done);

 private:
  [[nodiscard]] Tensor tensor_of(std::size_t boundary, std::size_t offset) const;
  [[nodiscard]] Tensor skip_of(std::size_t block, std::size_t offset) const;
  [[nodiscard]] BlockMemory memory_of(const Operation& operation, const OperationPlaces& places) const;
  [[nodiscard]] LossMemory loss_memory() const;
  [[nodiscard]] std::byte* at(std::size_t offset) const;
  void evaluate(const StepContext& context, const Observer* observer);
  void run_forward(const StepContext& context, std::size_t operation, bool again) const;
  void run_backward(const StepContext& context, std::size_t operation, bool accumulate) const;

  Chain chain_;
  Skips skips_;
  ParameterStore parameters_;
  BufferStore buffers_;
  bool exchanges_in_passes_;
  std::int64_t samples_;
  Schedule schedule_;
  Placement placement_;
  std::size_t loss_ = 0;  // operation of the schedule
  EvaluationLayout evaluation_;
  Arena arena_;
  bool trains_ = false;  // the last forward()
  /// How far the passes of a micro-batch are.
  struct Progress {
    std::size_t forward = 0;   // blocks that ran, however often
    std::size_t backward = 0;  // stages whose gradients are complete, the last ones first
  };
  Progress progress_;
  Tensor input_;  // of the last forward()
  Tensor output_;
};

}  // namespace mylos
