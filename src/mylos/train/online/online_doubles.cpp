// The calls of an OnlineTrainer with views of doubles.
#include "mylos/train/online/online_parts.hpp"

namespace mylos {

StepReport OnlineTrainer::step(const SampleRows<const double>& inputs,
                               const SampleRows<const double>& targets) {
  const BusyCall call = parts_->begin("OnlineTrainer::step");
  const Execution& exec = parts_->assembly.trainer->execution();
  parts_->batch->set(parts_->float_x.read(exec, inputs), parts_->float_y.read(exec, targets));
  return parts_->step();
}

StepReport OnlineTrainer::step(const SampleRows<const double>& inputs,
                               const SampleValues<const std::int32_t>& labels) {
  const BusyCall call = parts_->begin("OnlineTrainer::step");
  parts_->batch->set(parts_->float_x.read(parts_->assembly.trainer->execution(), inputs), labels);
  return parts_->step();
}

void OnlineTrainer::forward(const SampleRows<const double>& x, const SampleRows<double>& y) {
  const BusyCall call = parts_->begin("OnlineTrainer::forward");
  const Execution& exec = parts_->assembly.trainer->execution();
  parts_->forward(parts_->float_x.read(exec, x), parts_->float_y.write(y));
  parts_->float_y.fetch(exec, y);
}

void OnlineTrainer::backward(const SampleRows<const double>& dy) {
  const BusyCall call = parts_->begin("OnlineTrainer::backward");
  parts_->backward(parts_->float_y.read(parts_->assembly.trainer->execution(), dy), nullptr);
}

void OnlineTrainer::backward(const SampleRows<const double>& dy, const SampleRows<double>& dx) {
  const BusyCall call = parts_->begin("OnlineTrainer::backward");
  const Execution& exec = parts_->assembly.trainer->execution();
  const SampleRows<float> adjoints = parts_->float_dx.write(dx);
  parts_->backward(parts_->float_y.read(exec, dy), &adjoints);
  parts_->float_dx.fetch(exec, dx);
}

void OnlineTrainer::infer(const SampleRows<const double>& inputs, const SampleRows<double>& predictions) {
  const BusyCall call = parts_->begin("OnlineTrainer::infer");
  const Execution& exec = parts_->assembly.trainer->execution();
  parts_->infer(parts_->float_x.read(exec, inputs), parts_->float_y.write(predictions));
  parts_->float_y.fetch(exec, predictions);
  if constexpr (!memory_is_host) exec.fence("predictions");
}

}  // namespace mylos
