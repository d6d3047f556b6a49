// Own losses and loops: a step in parts, and calls in an order that makes none; predictions in between.
#include <cmath>

#include "mylos/base/errors/calls.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/train/online/online_parts.hpp"

namespace mylos {
namespace {

/// Throws Error (bad_input) unless `view` has `rows` rows of `columns` contiguous values.
void require_view(const SampleRows<const float>& view, std::int64_t rows, std::int64_t columns,
                  const char* name, const char* key, std::int64_t whole) {
  if (static_cast<std::int64_t>(view.extent(0)) != rows) {
    fail_input(errors::bad_call, "{} has {} rows, but the pass has {} samples", name, view.extent(0), rows);
  }
  ViewBatch::require_rows(view, columns, name, key, whole);
}

Tensor tensor_over(const SampleRows<float>& view, std::int64_t columns) {
  return {view.data(), DType::fp32, static_cast<std::int64_t>(view.extent(0)), columns};
}

}  // namespace

void OnlineParts::forward(const SampleRows<const float>& x, const SampleRows<float>& y) {
  if (diverged) throw *diverged;
  Trainer& trainer = *assembly.trainer;
  const Chain& chain = trainer.model().chain();
  const ModelOptions& whole = assembly.network.options.model;
  const auto samples = static_cast<std::int64_t>(x.extent(0));
  agree_on_call(OnlineCall::forward, samples);
  check_arguments("forward()", samples, [&] {
    if (chain.head->signature().inputs != chain.outputs()) {
      fail_input(errors::bad_call,
                 "forward() with model.loss = \"{}\", whose last layer computes {} numbers for each output, "
                 "for step() alone; a loss of your own reads any number of outputs with model.loss = \"mse\"",
                 chain.loss().name, chain.head->signature().inputs / chain.outputs());
    }
    if (samples > max_samples) {
      fail_input(
          errors::bad_call,
          "forward() of {} samples on a rank, more than the {} of data.micro_batch; make several passes",
          samples, max_samples);
    }
    ViewBatch::require_rows(x, chain.inputs(), "x", "inputs", whole.inputs);
    require_view(y, samples, chain.outputs(), "y", "outputs", whole.outputs);
    if (samples > 0 && samples < needs.own) throw too_few_own_samples(needs, samples);
  });
  const auto samples_before =
      static_cast<std::uint64_t>(trainer.passes().backward * max_samples * batch_ranks);
  const std::uint64_t first_sample = first_of_rank + samples_before;
  infer_ended_forward = false;
  const ConstTensor inputs =
      samples > 0 ? batch->inputs_of(trainer.execution(), x, 0, samples) : ConstTensor();
  trainer.forward(inputs, first_sample, tensor_over(y, chain.outputs()));
  pass_samples = samples;
}

void OnlineParts::backward(const SampleRows<const float>& dy, const SampleRows<float>* dx) {
  if (diverged) throw *diverged;
  Trainer& trainer = *assembly.trainer;
  const Chain& chain = trainer.model().chain();
  const ModelOptions& whole = assembly.network.options.model;
  agree_on_call(OnlineCall::backward, 0);
  check_arguments(dx != nullptr ? "backward() with dx" : "backward()", pass_samples, [&] {
    if (!trainer.passes().is_forward_done) {
      fail_input(errors::bad_call, "backward() needs a forward() before it{}",
                 infer_ended_forward ? "; infer() has overwritten what the last one stored" : "");
    }
    if (trainer.passes().backward > 0 && trainer.model().parameters().layout().cuts_gradients()) {
      fail_input(errors::bad_call,
                 "a second backward() in a step, but optimizer.shard = \"gradients\" allows one; set "
                 "optimizer.shard to \"state\"");
    }
    require_view(dy, pass_samples, chain.outputs(), "dy", "outputs", whole.outputs);
    if (dx == nullptr) return;
    if (!own.input_gradients) {
      fail_input(errors::bad_call,
                 "backward() with dx, but the trainer was not constructed for it; pass "
                 "OnlineOptions{{.input_gradients = true}} to the constructor");
    }
    require_view(*dx, pass_samples, chain.inputs(), "dx", "inputs", whole.inputs);
  });
  const ConstTensor d_outputs(dy.data(), DType::fp32, pass_samples, chain.outputs());
  trainer.backward(d_outputs, own_loss, dx != nullptr ? tensor_over(*dx, chain.inputs()) : Tensor());
}

StepReport OnlineParts::apply(const ApplyOptions& options) {
  if (diverged) throw *diverged;
  agree_on_call(OnlineCall::apply, 0);
  Trainer& trainer = *assembly.trainer;
  if (sharing) {
    assembly.communicator->synchronize(trainer.execution());
    sharing->agree("apply()", 0, [] {});
  }
  if (trainer.passes().is_forward_done) {
    trainer.bring_error(Error(ExitCode::bad_input, errors::bad_call,
                              "apply() after a forward() without its backward(); the passes since the last "
                              "apply() are discarded"));
  }
  if (options.lr && !(std::isfinite(*options.lr) && *options.lr >= 0)) {
    trainer.bring_error(
        Error(ExitCode::bad_input, errors::bad_call,
              fmt::format("apply() with the learning rate {}; it must be a number >= 0", *options.lr)));
  }
  end = {OnlineCall::apply, options.lr ? 1 : 0, options.lr.value_or(0)};
  trainer.end_step(own_loss, {options.lr, options.loss});
  return finish_step();
}

void OnlineParts::infer(const SampleRows<const float>& inputs, const SampleRows<float>& predictions) {
  Trainer& trainer = *assembly.trainer;
  const Execution& exec = trainer.execution();
  const Chain& chain = trainer.model().chain();
  const ModelOptions& whole = assembly.network.options.model;
  const std::int64_t outputs = chain.outputs();
  const auto samples = static_cast<std::int64_t>(inputs.extent(0));
  const auto check = [&] {
    if (predictions.extent(0) != inputs.extent(0)) {
      fail_input(errors::bad_call, "{} rows of inputs and {} of predictions; both views need the same number",
                 inputs.extent(0), predictions.extent(0));
    }
    ViewBatch::require_rows(inputs, chain.inputs(), "inputs", "inputs", whole.inputs);
    ViewBatch::require_rows(predictions, outputs, "predictions", "outputs", whole.outputs);
  };
  if (sharing) {
    assembly.communicator->synchronize(exec);
    sharing->agree("infer()", samples, check);
  } else {
    check();
  }
  if (trainer.passes().is_forward_done) {
    trainer.forget_forward();
    infer_ended_forward = true;
  }
  InferenceContext context(exec, *assembly.engines, trainer.model());
  context.sample_ranks = trainer.sample_ranks();
  const Tensor all(predictions.data(), DType::fp32, samples, outputs);
  infer_in_pieces(
      context, samples, max_samples,
      [&](std::int64_t first, std::int64_t count) { return batch->inputs_of(exec, inputs, first, count); },
      [&](std::int64_t first, const ConstTensor& found) {
        convert(exec, found, all.row_range(first, found.rows()));
      });
  if constexpr (!memory_is_host) exec.fence("predictions");
  if (sharing) assembly.communicator->synchronize(exec);  // the program may use MPI now
}

void OnlineTrainer::forward(const SampleRows<const float>& x, const SampleRows<float>& y) {
  const BusyCall call = parts_->begin("OnlineTrainer::forward");
  parts_->forward(x, y);
}

void OnlineTrainer::backward(const SampleRows<const float>& dy) {
  const BusyCall call = parts_->begin("OnlineTrainer::backward");
  parts_->backward(dy, nullptr);
}

void OnlineTrainer::backward(const SampleRows<const float>& dy, const SampleRows<float>& dx) {
  const BusyCall call = parts_->begin("OnlineTrainer::backward");
  parts_->backward(dy, &dx);
}

StepReport OnlineTrainer::apply(const ApplyOptions& options) {
  const BusyCall call = parts_->begin("OnlineTrainer::apply");
  return parts_->apply(options);
}

}  // namespace mylos
