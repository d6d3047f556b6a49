#include "mylos/optim/gradient_reduction.hpp"

#include <algorithm>
#include <optional>

#include "mylos/base/region.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch.hpp"

namespace mylos {
namespace {

DType wire_type(ReduceType choice, DType gradient, DType compute) {
  if (choice == ReduceType::fp32) return DType::fp32;
  if (choice == ReduceType::compute) return compute;
  return gradient == DType::bf16 ? DType::bf16 : DType::fp32;
}

/// The type in which the layers of a bucket compute; float where they differ, so that none loses digits.
DType compute_type_of(const ParameterLayout& layout, std::size_t bucket) {
  std::optional<DType> common;
  for (const ParameterSlot& slot : layout.slots) {
    if (slot.bucket != bucket) continue;
    if (common && *common != slot.compute) return DType::fp32;
    common = slot.compute;
  }
  return common.value_or(DType::fp32);
}

CommunicationBuffer buffer_of(const Tensor& tensor) {
  return {tensor.data(), static_cast<std::size_t>(tensor.size()), element_type(tensor.type())};
}

/// The slice of `rank` in a bucket that holds `world` equal slices.
Tensor slice_of_rank(const Tensor& bucket, int rank, int world) {
  const std::int64_t length = bucket.size() / world;
  const auto offset = static_cast<std::size_t>(rank * length) * size_of(bucket.type());
  return {static_cast<std::byte*>(bucket.data()) + offset, bucket.type(), 1, length};
}

/// A function of its own: nvcc takes no device lambda inside a generic one.
template <class From, class To>
void convert_scaled(const Execution& exec, std::int64_t count, const From* from, To* to, float factor) {
  for_each_element(
      exec, "to wire", count,
      KOKKOS_LAMBDA(const std::int64_t i) { to[i] = from_float<To>(to_float(from[i]) * factor); });
}

void convert_scaled(const Execution& exec, const Tensor& from, const Tensor& to, float factor) {
  dispatch(from.type(), [&]<class From>(TypeTag<From>) {
    dispatch(to.type(), [&]<class To>(TypeTag<To>) {
      convert_scaled(exec, from.size(), from.as<From>(), to.as<To>(), factor);
    });
  });
}

}  // namespace

ReductionMemory reduction_memory(const ParameterLayout& layout, ReduceType type, int ranks) {
  ReductionMemory memory;
  std::size_t reductions = 0;
  std::size_t gathers = 0;
  for (std::size_t i = 0; i < layout.buckets.size(); ++i) {
    const GradientBucket& bucket = layout.buckets[i];
    const DType wire = ranks == 1 ? bucket.type : wire_type(type, bucket.type, compute_type_of(layout, i));
    const std::size_t travelling = static_cast<std::size_t>(bucket.count) * size_of(wire);
    memory.wire_types.push_back(wire);
    reductions += travelling;
    gathers += static_cast<std::size_t>(bucket.count) * size_of(bucket.type);
    if (wire != bucket.type) memory.wire_bytes += aligned_bytes(travelling);
  }
  if (ranks > 1) memory.exchanged = std::max(reductions, gathers);
  return memory;
}

GradientReduction::GradientReduction(Communicator& communicator, ParameterStore& parameters, ReduceType type,
                                     float divisor)
    : communicator_(communicator), layout_(parameters.layout()), requests_(layout_.buckets.size()) {
  const int world = communicator.size();
  const ReductionMemory memory = reduction_memory(layout_, type, world);
  wire_ = Arena("gradients on the wire", memory.wire_bytes);

  std::size_t offset = 0;
  for (std::size_t i = 0; i < layout_.buckets.size(); ++i) {
    const GradientBucket& bucket = layout_.buckets[i];
    BucketPlan plan;
    plan.gradients = plan.wire = parameters.gradient(bucket);
    const bool copies = memory.wire_types[i] != bucket.type;
    if (copies) {
      plan.wire = wire_.tensor(offset, memory.wire_types[i], 1, bucket.count);
      offset += aligned_bytes(plan.wire.bytes());
    }
    const bool divides_here =
        world > 1 && (bucket.type != DType::fp32 || memory.wire_types[i] != DType::fp32);
    if (divides_here && copies && memory.wire_types[i] != DType::fp32) {
      plan.into_wire = 1.0f / divisor;
    } else if (divides_here) {
      plan.sum_factor = 1.0f / divisor;
    }
    remaining_.push_back(divides_here ? 1.0f : divisor);
    own_slices_.push_back(slice_of_rank(plan.gradients, communicator.rank(), world));
    plans_.push_back(plan);
  }
  if (world > 1) communicator.reserve(memory.exchanged);
}

void GradientReduction::start(const Execution& exec, std::size_t bucket) {
  const BucketPlan& plan = plans_[bucket];
  if (plan.wire.data() != plan.gradients.data())
    convert_scaled(exec, plan.gradients, plan.wire, plan.into_wire);
  requests_[bucket] = communicator_.start_reduce_scatter(exec, buffer_of(plan.wire), plan.sum_factor);
}

void GradientReduction::block_done(const Execution& exec, std::size_t block) {
  if (communicator_.size() == 1) return;
  while (started_ < plans_.size() && layout_.buckets[started_].last_block >= block) start(exec, started_++);
}

void GradientReduction::finish(const Execution& exec) {
  if (communicator_.size() == 1) return;
  const Region region("reduce gradients");
  while (started_ < plans_.size()) start(exec, started_++);
  started_ = 0;
  const int rank = communicator_.rank();
  const int world = communicator_.size();
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    communicator_.wait(exec, requests_[i]);
    if (plans_[i].wire.data() != plans_[i].gradients.data()) {
      convert(exec, slice_of_rank(plans_[i].wire, rank, world), own_slices_[i]);
    }
  }
  // Gathers start when no reduction is in flight any more: both then take turns in the same staging memory.
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    requests_[i] = communicator_.start_all_gather(exec, buffer_of(plans_[i].gradients));
  }
  for (Request& request : requests_) communicator_.wait(exec, request);
}

}  // namespace mylos
