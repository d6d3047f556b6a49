// TrainingLoss: the mean of the training loss over the steps since the last evaluation.
#pragma once

#include <cstdint>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/optim/update/step_record.hpp"

namespace mylos {

class TrainingLoss {
 public:
  /// Adds a step. Each step is added once, in order, so that the sum does not depend on how many records are
  /// read at a time. Skipped steps do not count.
  void add(const StepRecord& record) {
    if (record.overflow != 0) return;
    sum_ += record.loss;
    steps_ += 1;
  }
  /// Returns the mean over the steps since the last call; NaN if there were none.
  [[nodiscard]] double take();

  /// Adds the sum to `state`, which then points into this object.
  void save(CheckpointState& state);
  /// Adds the checkpoint's entries to `state`. Checkpoints of earlier builds may have none; the mean then
  /// covers the steps after the restart.
  void make_room(const CheckpointReader& saved, CheckpointState& state);

 private:
  double sum_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace mylos
