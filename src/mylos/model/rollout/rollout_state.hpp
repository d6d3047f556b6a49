// RolloutState: the inputs of the copies of a chain in one micro-batch, and what their blocks read besides.
#pragma once

#include <vector>

#include "mylos/model/rollout/feedback_block.hpp"
#include "mylos/model/rollout/feedback_store.hpp"
#include "mylos/model/rollout/rollout_chain.hpp"
#include "mylos/model/rollout/rollout_step.hpp"

namespace mylos {

class RolloutState {
 public:
  /// `chain`: one copy. `samples`: the maximum of a micro-batch.
  RolloutState(const RolloutChain& rollout, const Chain& chain, std::int64_t samples)
      : options_(rollout.options),
        runs_alone_(rollout.runs_alone()),
        box_(rollout.box),
        noise_(rollout.seed, RandomPurpose::augmentation, "rollout.noise"),
        store_(rollout.options, chain, samples) {
    use(options_.steps);
  }

  /// Sets the copies of the next micro-batches.
  void use(std::int64_t copies) {
    if (copies == copies_) return;  // steps allocate nothing
    copies_ = copies;
    weights_ = loss_weights(options_, copies);
  }
  [[nodiscard]] std::int64_t copies() const { return copies_; }
  /// Returns the passes of a micro-batch: one, or one per copy.
  [[nodiscard]] std::int64_t passes() const { return runs_alone_ ? copies_ : 1; }
  [[nodiscard]] bool has_loss(std::int64_t pass) const {
    return !runs_alone_ || weights_[static_cast<std::size_t>(pass)] != 0;
  }
  [[nodiscard]] std::int64_t row_columns() const {
    return options_.feedback.points * options_.feedback.row_channels;
  }
  [[nodiscard]] FeedbackStore& store() { return store_; }

  /// Begins a pass over `rows` [rows, row_columns()] and returns the input of its first copy. The input of a
  /// pass after the first is what end_pass() has made.
  [[nodiscard]] ConstTensor begin_pass(const StepContext& context, const ConstTensor& rows,
                                       std::int64_t pass) {
    step_ = {.rows = rows, .tables = store_.tables(), .weights = weights_};
    const Tensor input = store_.input(pass, rows.rows());
    if (input.empty()) return rows;
    if (pass == 0) {
      const InputNoise noise{noise_, options_.noise > 0, context.step, context.first_sample, box_};
      first_input(context.exec, shape_of(options_.feedback), step_.tables, rows, noise, input);
    }
    return input;
  }
  /// After the forward pass of a copy that runs alone: makes the input of the next one.
  void end_pass(const StepContext& context, const ConstTensor& input, const ConstTensor& output,
                std::int64_t pass) const {
    if (!runs_alone_ || pass + 1 >= copies_) return;
    next_input(context.exec, shape_of(options_.feedback), step_.tables, pass, input, output, step_.rows,
               store_.input(pass + 1, input.rows()));
  }
  /// Sets what the losses of the copies read.
  void set_loss(const Truth& truth, const float* scale, float inverse_count, LossSums* sums,
                const float* constants) {
    step_.truth = truth;
    step_.scale = scale;
    step_.inverse_count = inverse_count;
    step_.sums = sums;
    step_.constants = constants;
  }
  [[nodiscard]] const RolloutStep& step() const { return step_; }

 private:
  RolloutOptions options_;
  bool runs_alone_;
  std::optional<GridBox> box_;
  RandomStream noise_;
  FeedbackStore store_;
  std::int64_t copies_ = 0;
  std::vector<float> weights_;
  RolloutStep step_;
};

}  // namespace mylos
