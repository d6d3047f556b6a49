#include "mylos/optim/update/weight_update.hpp"

#include <algorithm>
#include <utility>

#include "mylos/base/device/region.hpp"
#include "mylos/base/device/timed.hpp"

namespace mylos {

WeightUpdate::WeightUpdate(Communicator& communicator, ParameterStore& parameters, const Optimizer& optimizer,
                           double& communication_s)
    : communicator_(communicator),
      parameters_(parameters),
      optimizer_(optimizer),
      communication_s_(communication_s) {
  const ParameterLayout& layout = parameters.layout();
  first_bucket_.assign(layout.slots_of_block.size(), layout.buckets.size());
  for (const ParameterSlot& slot : layout.slots)
    first_bucket_[slot.block] = std::min(first_bucket_[slot.block], slot.bucket);
}

WeightUpdate::~WeightUpdate() {
  if (completed_ > 0) communicator_.abandon();
}

void WeightUpdate::start(const Execution& exec, const UpdateControl* control) {
  if (communicator_.size() == 1) return optimizer_.update(exec, control);
  control_ = control;
  if (control != nullptr && shards_masters()) exchange_norms(exec);
  started_ = completed_ = parameters_.layout().buckets.size();
  start_gathers(exec);
}

void WeightUpdate::complete_block(const Execution& exec, std::size_t block) {
  complete_down_to(exec, first_bucket_[block]);
}

void WeightUpdate::complete_down_to(const Execution& exec, std::size_t bucket) {
  if (std::exchange(starts_later_, false)) start(exec, control_);
  while (completed_ > bucket) {
    end_gather(exec, completed_ - 1);
    --completed_;
    start_gathers(exec);
  }
}

void WeightUpdate::refresh(const Execution& exec) {
  finish(exec);
  parameters_.refresh_compute_weights(exec);
  if (!shards_masters()) return;
  start(exec, nullptr);
  finish(exec);
}

void WeightUpdate::exchange_norms(const Execution& exec) {
  const CommunicationBuffer norms = optimizer_.measure(exec, control_);
  if (norms.count == 0) return;
  timed(communication_s_, [&] { communicator_.allreduce(exec, norms, Reduction::sum); });
  optimizer_.divide(exec);
}

void WeightUpdate::start_gathers(const Execution& exec) {
  while (started_ > 0 && completed_ - started_ < buckets_in_flight) start_gather(exec, --started_);
}

void WeightUpdate::start_gather(const Execution& exec, std::size_t bucket) {
  const Tensor all = prepare_gather(exec, bucket);
  const std::size_t slot = bucket % buckets_in_flight;
  const CommunicationBuffer buffer{all.data(), static_cast<std::size_t>(all.size()), all.type()};
  timed(communication_s_, [&] { requests_[slot] = communicator_.start_all_gather(exec, buffer, slot); });
}

/// Returns the compute weights in place if all weights of the bucket have one type. Otherwise returns floats
/// in the memory of the bucket's gradients, which are no longer needed; that may have been the memory of a
/// bucket whose gather has completed.
Tensor WeightUpdate::prepare_gather(const Execution& exec, std::size_t bucket) {
  const GradientBucket& layout = parameters_.layout().buckets[bucket];
  if (!shards_masters()) return parameters_.gradient(layout);
  if (control_ != nullptr) optimizer_.update(exec, control_, bucket);
  if (layout.compute_type) return parameters_.compute_weights(layout);
  parameters_.put_held_masters(exec, bucket);
  return parameters_.gradient(layout);
}

void WeightUpdate::end_gather(const Execution& exec, std::size_t bucket) {
  timed(communication_s_, [&] {
    const Region region("gather");
    communicator_.wait(exec, requests_[bucket % buckets_in_flight]);
  });
  if (!shards_masters()) {
    optimizer_.update(exec, control_, bucket);
  } else if (!parameters_.layout().buckets[bucket].compute_type) {
    parameters_.take_gathered(exec, bucket);
  }
}

}  // namespace mylos
