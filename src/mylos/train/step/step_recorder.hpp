// StepRecorder: captures the parts of a step as graphs, so that a device's steps launch a few graphs instead
// of hundreds of kernels. The parts are the passes of micro-batches, and the step's conclusion.
//
// A part with collectives can be captured only by all ranks together (WorkRecorder). They therefore capture
// only steps that take the micro-batches of the plan, of which every rank has the same number, and key these
// parts by numbers that are the same on all ranks. A rank whose batch cannot be read makes the same pass on
// an earlier batch of the same buffer: the step's agreement then discards the step on all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "mylos/base/device/work_recorder.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/model/network/micro_batch.hpp"

namespace mylos {

/// What distinguishes the passes of a step on all ranks alike.
struct PassOfStep {
  std::int64_t micro_batch = 1;     // from 1
  bool has_collectives = false;     // of several ranks
  bool starts_with_update = false;  // completes the update of the last step
  bool accumulates = false;         // adds to the gradients of previous micro-batches
  std::int64_t copies = 0;          // of a rollout, or 0
  std::int64_t buffer = -1;         // of the batch, numbered alike on all ranks; -1: not known
};

class StepRecorder {
 public:
  using Submission = WorkRecorder::Submission;

  /// `records`: whether parts are captured. `drops`: the offset of a micro-batch in the global batch is a key
  /// of random numbers. `undo`: WorkRecorder::Ranks::undo of parts with collectives. `communicator` must
  /// outlive this object.
  StepRecorder(bool records, bool drops, Communicator& communicator, const Execution& exec,
               std::function<void()> undo);
  ~StepRecorder() {
    communicator_.remove_captures(own_);
    communicator_.remove_captures(of_ranks_);
  }
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;

  /// Returns whether parts with collectives may be captured.
  [[nodiscard]] bool captures_collectives() const { return captures_collectives_; }

  void begin_step() { last_given_ = 0; }
  /// Enqueues a pass on `batch`. Throws Error, before a pass of several ranks, if its buffer held a batch of
  /// other addresses or extents before.
  template <class Work>
  Submission submit_pass(const Execution& exec, const PassOfStep& pass, const MicroBatch& batch,
                         const Work& work) {
    if (!pass.has_collectives) return own_.submit(exec, own_key(pass, batch), work);
    remember(pass, batch);
    last_given_ = pass.micro_batch;
    return finish(of_ranks_.submit(exec, key_of(pass), work));
  }
  /// Enqueues a part at the end of the step. `has_collectives`, as in PassOfStep; `variant`: of its kernels.
  template <class Work>
  Submission submit_conclusion(const Execution& exec, bool has_collectives, bool variant, const Work& work) {
    const WorkRecorder::Key key{variant ? 1 : 0, 0, 0, 0, 0, 0, 0, 1};
    if (!has_collectives) return own_.submit(exec, key, work);
    return finish(of_ranks_.submit(exec, key, work));
  }

  /// Called on a rank that has no batch for this pass, or whose submit_pass() has failed. Returns an earlier
  /// batch if the other ranks launch or capture the pass, so that this rank can do so too. Returns nothing if
  /// they enqueue it directly: this rank then joins its collectives.
  [[nodiscard]] std::optional<MicroBatch> substitute(const PassOfStep& pass);

  /// Discards all graphs.
  void forget();
  /// Returns, once, why parts could not be captured; otherwise empty.
  [[nodiscard]] std::string take_refusal();

 private:
  struct Remembered {
    WorkRecorder::Key pass;
    WorkRecorder::Key batch;
    MicroBatch contents;
  };

  [[nodiscard]] static WorkRecorder::Key key_of(const PassOfStep& pass);
  [[nodiscard]] WorkRecorder::Key own_key(const PassOfStep& pass, const MicroBatch& batch) const;
  [[nodiscard]] const Remembered* find(const WorkRecorder::Key& pass) const;
  void remember(const PassOfStep& pass, const MicroBatch& batch);
  Submission finish(Submission submission) {
    if (submission != Submission::directly) communicator_.on_launch();
    return submission;
  }

  Communicator& communicator_;
  bool drops_;
  WorkRecorder own_;       // parts without collectives
  WorkRecorder of_ranks_;  // parts with collectives
  bool captures_collectives_;
  std::vector<Remembered> batches_;
  std::int64_t last_given_ = 0;  // micro-batch of the step's last pass with collectives
};

}  // namespace mylos
