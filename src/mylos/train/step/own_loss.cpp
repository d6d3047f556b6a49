// A Trainer's step in parts, with a loss that the program computes.
#include <algorithm>
#include <bit>
#include <limits>

#include "mylos/base/device/region.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/pointwise/gradient_scale.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {
namespace {

/// Folds the arguments that all ranks must pass alike. Not 0, which stands for a step with the chain's loss.
std::int32_t bits_of_call(const OwnLoss& loss, double lr) {
  const auto bits = std::bit_cast<std::uint64_t>(lr) ^ (loss.by_rows ? 0x9E3779B97F4A7C15u : 0u);
  return static_cast<std::int32_t>((bits ^ (bits >> 32)) & 0x3FFFFFFFu) + 1;
}

}  // namespace

OwnLoss Trainer::own_loss(bool is_mean) const {
  // Seeds have about the size that those of a full step's mean loss have: the loss scale then has the same
  // room, whatever the number of ranks. The reduction divides by plan_.parts() / plan_.micro_batch.
  const double divisor =
      static_cast<double>(static_cast<float>(plan_.parts()) / static_cast<float>(plan_.micro_batch));
  const auto ranks = static_cast<std::uint64_t>(communicator_.size());
  const auto rows = static_cast<std::uint64_t>(plan_.micro_batch * model_.chain().rows_per_sample);
  // The ranks agree on rows, one for each box of a sample, where a mean is over samples.
  const auto boxes = static_cast<std::uint64_t>(plan_.boxes);
  const double factor =
      is_mean ? static_cast<double>(std::bit_ceil(boxes)) / static_cast<double>(std::bit_floor(rows))
              : static_cast<double>(std::bit_ceil(ranks));
  const double rows_of_sample = is_mean ? static_cast<double>(boxes) : 1.0;
  return {.seed_factor = static_cast<float>(factor),
          .by_rows = is_mean,
          .weight = rows_of_sample * divisor / factor};
}

void Trainer::forward(const ConstTensor& input, std::uint64_t first_sample, const Tensor& outputs) {
  const Region region("own forward");
  if (passes_done_.backward == 0) begin_passes();
  own_first_sample_ = first_sample;
  const StepContext context = context_of(first_sample);
  if (input.rows() > 0) {
    model_.forward(context, input, nullptr, &await_weights_);
    update_.finish(exec_);
    convert(exec_, model_.head_outputs(context, 0, input.rows()), outputs);
  } else if (model_.exchanges_in_passes() && communicator_.size() > 1) {
    model_.join_forward(context, await_weights_);
  }
  own_rows_ = input.rows();
  passes_done_.is_forward_done = true;
  if (exchanges_in_passes()) finish_collectives();
}

void Trainer::backward(const ConstTensor& d_outputs, const OwnLoss& loss, const Tensor& d_input) {
  const Region region("own backward");
  const bool reduces = model_.parameters().layout().cuts_gradients();
  if (!passes_done_.is_forward_done || (reduces && passes_done_.backward > 0))
    fail_run(errors::internal, "backward() without its forward(), or a second one for sharded gradients");
  const BlockDone& block_done = reduces ? reduce_gradients_ : keep_gradients_;
  const StepContext context = context_of(own_first_sample_);
  if (own_rows_ > 0) {
    model_.seed(context, d_outputs, loss_scale(), loss.seed_factor);
    model_.backward(context, passes_done_.rows > 0, block_done, nullptr, !d_input.empty());
    if (!d_input.empty())
      divide_by_scale(exec_, model_.input_gradient(), d_input, loss_scale(), loss.seed_factor);
  } else if (model_.exchanges_in_passes() && communicator_.size() > 1) {
    model_.join_backward(context, reduces, block_done);
  }
  passes_done_ = {
      .is_forward_done = false, .backward = passes_done_.backward + 1, .rows = passes_done_.rows + own_rows_};
  if (reduces) reduction_.complete_started(exec_);  // the program may use MPI now
  if (reduces || exchanges_in_passes()) finish_collectives();
}

void Trainer::read_own_gradient(std::size_t slot, const OwnLoss& loss, const Tensor& gradient) {
  const ParameterStore& parameters = model_.parameters();
  const Tensor sum = parameters.gradient(parameters.layout().slots[slot]);
  const bool is_frozen = std::any_of(
      frozen_gradients_.begin(), frozen_gradients_.end(), [&](const std::vector<Tensor>& of_stage) {
        return std::any_of(of_stage.begin(), of_stage.end(),
                           [&](const Tensor& frozen) { return frozen.data() == sum.data(); });
      });
  if (is_frozen || passes_done_.rows == 0) return fill(exec_, gradient, 0);
  divide_by_scale(exec_, sum, gradient, loss_scale(), loss.seed_factor);
}

void Trainer::end_step(const OwnLoss& loss, const OwnStepEnd& end) {
  const Region region("own step");
  if (passes_done_.backward == 0) begin_passes();
  const double lr = end.lr.value_or(-1);
  const double rows_of_sample = loss.by_rows ? static_cast<double>(plan_.boxes) : 1.0;
  input_ = {.rows = passes_done_.rows,
            .own = {.is_used = 1,
                    .call = bits_of_call(loss, lr),
                    .by_rows = loss.by_rows ? 1 : 0,
                    .weight = loss.weight,
                    .lr = lr,
                    .loss = rows_of_sample * end.loss.value_or(std::numeric_limits<double>::quiet_NaN())}};
  if (input_.rows > 0 && !model_.parameters().layout().cuts_gradients()) {
    for (std::size_t stage = model_.chain().blocks.size() + 1; stage-- > 0;) reduce_gradients(stage);
  }
  conclude(false);
  passes_done_ = {};
}

}  // namespace mylos
