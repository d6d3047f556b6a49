#include "mylos/train/step/step_recorder.hpp"

#include <algorithm>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

std::int64_t number_of(const void* address) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address));
}

/// All ranks: returns whether `own` is true on every rank. It uses MPI, hence after the device's collectives.
bool is_true_on_all(Communicator& communicator, const Execution& exec, bool own) {
  communicator.synchronize(exec);
  std::int64_t failures = own ? 0 : 1;
  communicator.ranks().add_up({&failures, 1});
  return failures == 0;
}

}  // namespace

StepRecorder::StepRecorder(bool records, bool drops, Communicator& communicator, const Execution& exec,
                           std::function<void()> undo)
    : communicator_(communicator),
      drops_(drops),
      own_(records),
      of_ranks_(records && communicator.size() > 1,
                {.all = [&communicator, exec](bool own) { return is_true_on_all(communicator, exec, own); },
                 .undo = std::move(undo)},
                communicator.make_capture()),
      captures_collectives_(of_ranks_.is_on()) {
  communicator.add_captures(own_);  // with one rank NCCL still makes the agreement
  communicator.add_captures(of_ranks_);
}

WorkRecorder::Key StepRecorder::key_of(const PassOfStep& pass) {
  return {pass.micro_batch, pass.buffer, pass.copies, pass.starts_with_update ? 1 : 0, 0, 0, 0, 0};
}

/// Equal keys mean equal kernels of a micro-batch. They depend on whether gradients are added to those of
/// previous micro-batches and, only with dropout, on the micro-batch's offset in the global batch.
WorkRecorder::Key StepRecorder::own_key(const PassOfStep& pass, const MicroBatch& batch) const {
  return {number_of(batch.inputs.data()),
          batch.inputs.rows(),
          static_cast<std::int64_t>(batch.inputs.type()),
          number_of(batch.truth.labels),
          number_of(batch.truth.targets),
          drops_ ? static_cast<std::int64_t>(batch.first_sample) : 0,
          2 * pass.copies + (pass.accumulates ? 1 : 0),
          0};
}

const StepRecorder::Remembered* StepRecorder::find(const WorkRecorder::Key& pass) const {
  const auto found = std::find_if(batches_.begin(), batches_.end(),
                                  [&](const Remembered& other) { return other.pass == pass; });
  return found == batches_.end() ? nullptr : &*found;
}

void StepRecorder::remember(const PassOfStep& pass, const MicroBatch& batch) {
  const WorkRecorder::Key key = key_of(pass);
  const WorkRecorder::Key own = own_key({}, batch);
  const Remembered* const found = find(key);
  if (found == nullptr) {
    batches_.push_back({key, own, batch});
  } else if (found->batch != own) {
    fail_run(errors::internal,
             "micro-batch {} of a step has {} rows, or addresses, that its captured pass lacks; a step that "
             "takes the plan's micro-batches has {}",
             pass.micro_batch, batch.inputs.rows(), found->contents.inputs.rows());
  }
}

std::optional<MicroBatch> StepRecorder::substitute(const PassOfStep& pass) {
  if (!pass.has_collectives || pass.micro_batch == last_given_) return std::nullopt;
  const WorkRecorder::Key key = key_of(pass);
  const Remembered* const found = find(key);
  if (of_ranks_.captures(key) && found != nullptr) return found->contents;
  of_ranks_.decline(key);
  return std::nullopt;
}

void StepRecorder::forget() {
  own_.forget();
  of_ranks_.forget();
  batches_.clear();
}

std::string StepRecorder::take_refusal() {
  std::string refusal = of_ranks_.take_refusal();
  return refusal.empty() ? own_.take_refusal() : refusal;
}

}  // namespace mylos
