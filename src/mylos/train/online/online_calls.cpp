// The calls of an OnlineTrainer with views of floats, and what it says of itself.
#include "mylos/train/online/online_parts.hpp"

namespace mylos {

std::int64_t OnlineTrainer::max_samples() const {
  return parts_->max_samples;
}

std::int64_t OnlineTrainer::inputs() const {
  return parts_->assembly.trainer->model().chain().inputs();
}

std::int64_t OnlineTrainer::outputs() const {
  return parts_->assembly.trainer->model().chain().outputs();
}

ScalerStatistics OnlineTrainer::scaler() const {
  const BusyCall call = parts_->begin("OnlineTrainer::scaler");
  return statistics_of(parts_->assembly.trainer->read_state().scaler);
}

const Trainer& OnlineTrainer::trainer() const {
  return *parts_->assembly.trainer;
}

StepReport OnlineTrainer::step(const SampleRows<const float>& inputs,
                               const SampleRows<const float>& targets) {
  const BusyCall call = parts_->begin("OnlineTrainer::step");
  parts_->batch->set(inputs, targets);
  return parts_->step();
}

StepReport OnlineTrainer::step(const SampleRows<const float>& inputs,
                               const SampleValues<const std::int32_t>& labels) {
  const BusyCall call = parts_->begin("OnlineTrainer::step");
  parts_->batch->set(inputs, labels);
  return parts_->step();
}

void OnlineTrainer::infer(const SampleRows<const float>& inputs, const SampleRows<float>& predictions) {
  const BusyCall call = parts_->begin("OnlineTrainer::infer");
  parts_->infer(inputs, predictions);
}

}  // namespace mylos
