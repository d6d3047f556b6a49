// TrainingLoss: the mean of the training loss over the steps since the last evaluation.
#pragma once

#include <cstdint>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/optim/update/step_state.hpp"

namespace mylos {

class TrainingLoss {
 public:
  /// Of each step once, in their order: the sum is then the same whoever reads how many of them at a time. A
  /// step that was skipped does not count.
  void add(const StepRecord& record) {
    if (record.overflow != 0) return;
    sum_ += record.loss;
    steps_ += 1;
  }
  /// The mean over those since the last call; NaN where there were none.
  [[nodiscard]] double take();

  /// `state` points into this object then.
  void save(CheckpointState& state);
  /// Adds room for what the checkpoint has: nothing, where its build did not know of it. The mean is then of
  /// the steps from there on.
  void make_room(const CheckpointReader& saved, CheckpointState& state);

 private:
  double sum_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace mylos
