#include "mylos/train/history/training_loss.hpp"

namespace mylos {

double TrainingLoss::take() {
  const double mean = sum_ / static_cast<double>(steps_);
  sum_ = 0;
  steps_ = 0;
  return mean;
}

void TrainingLoss::save(CheckpointState& state) {
  state.add_scalar("/evaluation/training_loss_sum", sum_);
  state.add_scalar("/evaluation/training_loss_steps", steps_);
}

void TrainingLoss::make_room(const CheckpointReader& saved, CheckpointState& state) {
  if (saved.exists("/evaluation")) save(state);
}

}  // namespace mylos
