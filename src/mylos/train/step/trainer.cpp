#include "mylos/train/step/trainer.hpp"

#include "mylos/base/device/region.hpp"
#include "mylos/base/device/timed.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {
namespace {

std::int64_t number_of(const void* address) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address));
}

/// Equal keys mean equal kernels of a micro-batch. They depend on whether gradients are added to those of
/// previous micro-batches and, only with dropout, on the micro-batch's offset in the global batch.
/// `copies`: of a rollout, or 0.
WorkRecorder::Key key_of(const MicroBatch& batch, bool accumulate, bool drops, std::int64_t copies) {
  return {number_of(batch.inputs.data()),
          batch.inputs.rows(),
          static_cast<std::int64_t>(batch.inputs.type()),
          number_of(batch.truth.labels),
          number_of(batch.truth.targets),
          drops ? static_cast<std::int64_t>(batch.first_sample) : 0,
          2 * copies + (accumulate ? 1 : 0),
          0};
}

WorkRecorder::Key key_of_conclusion(bool has_rows) {
  return {has_rows ? 1 : 0, 0, 0, 0, 0, 0, 0, 1};
}

}  // namespace

void Trainer::step(BatchSource& batches, const std::function<bool()>& stop_requested) {
  const Region region("step");
  try {
    compute_gradients(batches, reduce_gradients_);
  } catch (const Error& error) {
    error_ = error;  // the other ranks wait in the reduction; the agreement passes the error on
  } catch (const std::exception& error) {
    error_ = Error(ExitCode::failed, ErrorId::internal, error.what());
  }
  conclude(stop_requested());
}

void Trainer::begin_passes() {
  begin_step(exec_, sums_.data());
  model_.begin_step(exec_);
  if (model_.rollout() != nullptr) model_.use_copies(copies_at(rollout_, steps_));
}

void Trainer::compute_gradients(BatchSource& batches, const BlockDone& block_done, const Observer* observer) {
  input_ = {};
  begin_passes();
  if (tree_) tree_->begin();
  std::int64_t i = 1;
  try {
    for (; i <= plan_.micro_batches; ++i) {
      const MicroBatch batch = timed(waits_.data_s, [&] { return batches.next(exec_); });
      if (batch.inputs.rows() == 0) {
        join_collectives(i, i, block_done);
        continue;
      }
      pass_or_replay(batch, i < passes_ ? keep_gradients_ : block_done, observer);
      if (tree_) tree_->take(exec_, sums_.data());
      input_.rows += batch.inputs.rows();
    }
  } catch (...) {
    join_collectives(i, passes_, block_done);
    throw;
  }
  join_collectives(i, passes_, block_done);
}

void Trainer::join_collectives(std::int64_t first, std::int64_t last, const BlockDone& block_done) {
  if (!model_.exchanges_in_passes() || communicator_.size() == 1) return;
  const StepContext context{.exec = exec_, .engines = engines_, .ranks = &statistics_};
  for (std::int64_t i = first; i <= last; ++i) {
    const bool ends_step = i == passes_;
    model_.join_collectives(context, ends_step && input_.rows == 0, await_weights_,
                            ends_step ? block_done : keep_gradients_);
  }
}

void Trainer::pass_or_replay(const MicroBatch& batch, const BlockDone& block_done, const Observer* observer) {
  const bool accumulate = input_.rows > 0 && !tree_;
  const auto work = [&] { forward_and_backward(batch, accumulate, block_done, observer); };
  if (observer != nullptr) return work();
  const RolloutState* const rollout = model_.rollout();
  recorder_.give(exec_, key_of(batch, accumulate, drops_, rollout != nullptr ? rollout->copies() : 0), work);
}

void Trainer::forward_and_backward(const MicroBatch& batch, bool accumulate, const BlockDone& block_done,
                                   const Observer* observer) {
  const StepContext context = context_of(batch.first_sample);
  const RolloutState* const rollout = model_.rollout();
  const std::int64_t passes = rollout != nullptr ? rollout->passes() : 1;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    const LossSeed seed{loss_scale(), mean_.seed_factor(), accumulate};
    model_.forward(context, batch.inputs, observer, &await_weights_, pass);
    update_.finish(exec_);  // the output's weights too
    if (rollout != nullptr && !rollout->has_loss(pass)) continue;
    model_.loss_and_seed(context, batch.truth, seed, sums_.data(), observer);
    model_.backward(context, accumulate, pass + 1 < passes ? keep_gradients_ : block_done, observer);
    accumulate = true;
  }
}

void Trainer::await_weights(std::size_t block) {
  update_.complete_block(exec_, block);
}

void Trainer::reduce_gradients(std::size_t block) {
  if (tree_) tree_->add_to_block(exec_, block);
  for (const Tensor& gradient : frozen_gradients_[block]) fill(exec_, gradient, 0);
  timed(waits_.communication_s, [&] { reduction_.block_done(exec_, block); });
}

void Trainer::conclude(bool stop_requested) {
  const std::int32_t own = communicator_.rank() + 1;
  input_.stop = stop_requested ? own : 0;
  input_.error = error_ ? own : 0;
  steps_ += 1;
  upload(exec_, input_, step_input_.data());
  recorder_.give(exec_, key_of_conclusion(input_.rows > 0), [&] { decide_and_update(); });
}

void Trainer::decide_and_update() {
  update_.finish(exec_);  // if no forward pass has
  timed(waits_.communication_s,
        [&] { input_.rows > 0 ? reduction_.finish(exec_) : reduction_.finish_with_zeros(exec_); });
  if (!model_.buffers().sums().empty()) statistics_.add_up(exec_, model_.buffers().sums());
  check_.run(exec_, loss_scale(), agreement_);
  state_own_part(exec_, step_input_.data(), sums_.data(), agreement_);
  timed(waits_.communication_s, [&] { communicator_.agree(exec_, agreement_); });
  decide(exec_, rule_, step_input_.data(), agreement_.result(), state_.data());
  model_.move_state(exec_, &state_.data()->control.apply);
  update_.start(exec_, &state_.data()->control);
  advance(exec_, rule_, agreement_.result(), state_.data(), records_.data(), record_capacity);
}

void Trainer::observe_gradients(BatchSource& batches, const Observer& observer) {
  compute_gradients(batches, keep_gradients_, &observer);
}

}  // namespace mylos
