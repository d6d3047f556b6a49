#include "mylos/train/step/trainer.hpp"

#include "mylos/base/device/region.hpp"
#include "mylos/base/device/timed.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/train/step/batch_of_zeros.hpp"

namespace mylos {
void Trainer::step(BatchSource& batches, const std::function<bool()>& stop_requested) {
  const Region region("step");
  captures_ranks_ = recorder_.captures_collectives() && batches.buffers() > 0 &&
                    plan_.min_micro_batches == plan_.max_micro_batches;
  try {
    compute_gradients(batches, reduce_gradients_);
  } catch (const Error& error) {
    error_ = error;  // the other ranks wait in the reduction; the agreement passes the error on
  } catch (const std::exception& error) {
    error_ = Error(ExitCode::failed, errors::internal, error.what());
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
  recorder_.begin_step();
  if (captures_ranks_) {
    buffers_ = batches.buffers();
    first_buffer_ = static_cast<std::int64_t>(steps_) * passes_ % buffers_;
    batches.use_buffer(first_buffer_);
  }
  std::int64_t i = 1;
  bool has_batch = false;  // of this micro-batch
  try {
    for (; i <= plan_.micro_batches; ++i) {
      has_batch = false;
      const MicroBatch batch = timed(waits_.data_s, [&] { return batches.next(exec_); });
      has_batch = true;
      if (batch.inputs.rows() == 0) {
        join_collectives(i, block_done);
        continue;
      }
      pass_or_replay(i, batch, block_done, observer);
      if (tree_) tree_->take(exec_, sums_.data());
      input_.rows += batch.inputs.rows();
    }
  } catch (...) {
    if (has_batch && plan_.boxes > 1)
      ++i;  // half of the pass has been exchanged, which no other pass continues
    for (; i <= passes_; ++i) pass_without_batch(i, block_done);
    throw;
  }
  for (; i <= passes_; ++i) join_collectives(i, block_done);
}

void Trainer::pass_without_batch(std::int64_t i, const BlockDone& block_done) {
  if (const auto earlier = recorder_.substitute(pass_of_step(i))) {
    pass_or_replay(i, *earlier, block_done, nullptr);
  } else if (const std::int64_t samples = plan_.samples_of(i); plan_.boxes > 1 && samples > 0) {
    const BatchOfZeros zeros(model_.chain(), samples);
    pass_or_replay(i, zeros.batch(), block_done, nullptr);
    exec_.fence("a batch of zeros");  // before its memory is freed
  } else {
    join_collectives(i, block_done);
    if (captures_ranks_) update_.finish(exec_);  // before a later pass whose graph has other collectives
  }
}

void Trainer::join_collectives(std::int64_t i, const BlockDone& block_done) {
  if (!model_.exchanges_in_passes() || communicator_.size() == 1) return;
  const StepContext context{.exec = exec_, .engines = engines_, .ranks = &statistics_};
  const bool ends_step = i == passes_;
  model_.join_collectives(context, ends_step && input_.rows == 0, await_weights_,
                          ends_step ? block_done : keep_gradients_);
}

PassOfStep Trainer::pass_of_step(std::int64_t i) {
  PassOfStep pass{.micro_batch = i, .accumulates = input_.rows > 0 && !tree_};
  if (const RolloutState* const rollout = model_.rollout()) pass.copies = rollout->copies();
  if (!captures_ranks_) return pass;
  pass.has_collectives = i == 1 || i == passes_ || exchanges_in_passes();
  pass.starts_with_update = i == 1 && update_.is_pending();
  pass.buffer = (first_buffer_ + i - 1) % buffers_;
  return pass;
}

void Trainer::pass_or_replay(std::int64_t i, const MicroBatch& batch, const BlockDone& block_done,
                             const Observer* observer) {
  const BlockDone& of_pass = i < passes_ ? keep_gradients_ : block_done;
  const PassOfStep pass = pass_of_step(i);
  const bool reduces = captures_ranks_ && &of_pass == &reduce_gradients_;
  const auto work = [&] {
    forward_and_backward(batch, pass.accumulates, of_pass, observer);
    if (reduces) timed(waits_.communication_s, [&] { reduction_.finish(exec_); });
  };
  if (observer != nullptr || !records_step()) return work();
  update_was_pending_ = update_.is_pending();
  if (recorder_.submit_pass(exec_, pass, batch, work) == StepRecorder::Submission::launched)
    update_.on_finished_by_graph();
  if (reduces) is_reduced_ = true;
}

void Trainer::undo_capture() {
  update_.undo_capture(update_was_pending_);
  reduction_.undo_capture();
  communicator_.forget_captured();
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
  if (captures_ranks_ && !is_reduced_) complete_exchanges();
  const auto work = [&] { decide_and_update(); };
  if (records_step()) {
    recorder_.submit_conclusion(exec_, captures_ranks_, !captures_ranks_ && input_.rows > 0, work);
  } else {
    work();
  }
  if (captures_ranks_) update_.start_later(&state_.data()->control);
  captures_ranks_ = is_reduced_ = false;
}

void Trainer::complete_exchanges() {
  update_.finish(exec_);  // if no forward pass has
  timed(waits_.communication_s,
        [&] { input_.rows > 0 ? reduction_.finish(exec_) : reduction_.finish_with_zeros(exec_); });
}

void Trainer::decide_and_update() {
  if (!captures_ranks_) complete_exchanges();
  if (!model_.buffers().sums().empty()) statistics_.add_up(exec_, model_.buffers().sums());
  check_.run(exec_, loss_scale(), agreement_);
  state_own_part(exec_, step_input_.data(), sums_.data(), agreement_);
  timed(waits_.communication_s, [&] { communicator_.agree(exec_, agreement_); });
  decide(exec_, rule_, step_input_.data(), agreement_.result(), state_.data());
  model_.move_state(exec_, &state_.data()->control.apply);
  if (!captures_ranks_) update_.start(exec_, &state_.data()->control);
  advance(exec_, rule_, agreement_.result(), state_.data(), records_.data(), record_capacity);
}

void Trainer::observe_gradients(BatchSource& batches, const Observer& observer) {
  compute_gradients(batches, keep_gradients_, &observer);
}

}  // namespace mylos
