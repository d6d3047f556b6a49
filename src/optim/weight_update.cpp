#include "mylos/optim/weight_update.hpp"

#include <algorithm>

#include "mylos/base/region.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {

void WeightUpdate::start(const Execution& exec, const UpdateControl* control) {
  const ParameterLayout& layout = parameters_.layout();
  if (layout.holders == 1) return optimizer_.update(exec, control);
  for (std::size_t bucket = 0; bucket < layout.buckets.size(); ++bucket) {
    optimizer_.update(exec, control, bucket);
    start_gather(exec, bucket);
  }
}

void WeightUpdate::refresh(const Execution& exec) {
  const ParameterLayout& layout = parameters_.layout();
  parameters_.refresh_compute_weights(exec);
  if (layout.holders == 1) return;
  for (std::size_t bucket = 0; bucket < layout.buckets.size(); ++bucket) start_gather(exec, bucket);
  finish(exec);
}

/// In place where the bucket's compute weights have one type; else as floats, in the memory of its gradients,
/// which nobody reads any more. That may have been the memory of a bucket that has left the window.
void WeightUpdate::start_gather(const Execution& exec, std::size_t bucket) {
  if (bucket >= buckets_in_flight) end_gather(exec, bucket - buckets_in_flight);
  const GradientBucket& layout = parameters_.layout().buckets[bucket];
  Tensor all;
  if (layout.compute_type) {
    all = parameters_.compute_weights(layout);
  } else {
    all = parameters_.gradient(layout);
    const BucketSlice& own = parameters_.held_slices()[bucket];
    convert(exec, parameters_.held_masters(bucket), all.elements(own.first, own.count));
  }
  const std::size_t slot = bucket % buckets_in_flight;
  const CommunicationBuffer buffer{all.data(), static_cast<std::size_t>(all.size()), all.type()};
  requests_[slot] = communicator_.start_all_gather(exec, buffer, slot);
}

void WeightUpdate::end_gather(const Execution& exec, std::size_t bucket) {
  communicator_.wait(exec, requests_[bucket % buckets_in_flight]);
  if (!parameters_.layout().buckets[bucket].compute_type) parameters_.take_gathered(exec, bucket);
}

void WeightUpdate::finish(const Execution& exec) {
  if (parameters_.layout().holders == 1) return;
  const Region region("gather weights");
  const std::size_t buckets = parameters_.layout().buckets.size();
  const std::size_t in_flight = std::min(buckets, buckets_in_flight);
  for (std::size_t bucket = buckets - in_flight; bucket < buckets; ++bucket) end_gather(exec, bucket);
}

}  // namespace mylos
