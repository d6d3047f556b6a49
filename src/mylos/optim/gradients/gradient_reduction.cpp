#include "mylos/optim/gradients/gradient_reduction.hpp"

#include <algorithm>
#include <optional>

#include "mylos/base/device/region.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/optim/gradients/statistics_exchange.hpp"

namespace mylos {
namespace {

DType wire_type(ReduceType choice, DType gradient, DType compute) {
  if (choice == ReduceType::fp32) return DType::fp32;
  if (choice == ReduceType::compute) return compute;
  return gradient == DType::bf16 ? DType::bf16 : DType::fp32;
}

/// Returns the compute type of a bucket's layers; float if they differ, so that none loses digits.
DType compute_type_of(const ParameterLayout& layout, std::size_t bucket) {
  std::optional<DType> common;
  for (const ParameterSlot& slot : layout.slots) {
    if (slot.bucket != bucket) continue;
    if (common && *common != slot.spec.type) return DType::fp32;
    common = slot.spec.type;
  }
  return common.value_or(DType::fp32);
}

std::size_t slot_of(std::size_t bucket) {
  return bucket % buckets_in_flight;
}

CommunicationBuffer buffer_of(const Tensor& tensor) {
  return {tensor.data(), static_cast<std::size_t>(tensor.size()), tensor.type()};
}

/// Returns the elements of a bucket that belong to no parameter.
std::vector<Tensor> padding_of(const ParameterStore& parameters, std::size_t bucket) {
  const ParameterLayout& layout = parameters.layout();
  const Tensor all = parameters.gradient(layout.buckets[bucket]);
  std::vector<Tensor> padding;
  std::int64_t end = 0;  // end of the parameters so far
  const auto add_up_to = [&](std::int64_t begin) {
    if (end < begin) padding.push_back(all.elements(end, begin - end));
  };
  for (const ParameterSlot& slot : layout.slots) {
    if (slot.bucket != bucket) continue;
    const std::int64_t begin = slot.offset - layout.buckets[bucket].first;
    add_up_to(begin);
    end = begin + slot.size();
  }
  add_up_to(all.size());
  return padding;
}

/// A separate function: nvcc does not support a device lambda inside a generic lambda.
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

std::size_t ReductionMemory::copied_bytes() const {
  std::size_t sum = 0;
  for (const std::size_t slot : copied) sum += aligned_bytes(slot);
  return sum;
}

ReductionMemory reduction_memory(const ParameterLayout& layout, ReduceType type, int ranks,
                                 std::size_t statistics, std::size_t norms, const SlotBytes& sample) {
  ReductionMemory memory;
  const std::size_t slots = ranks > 1 ? statistics_slot(layout) : 0;
  memory.slots.resize(slots);
  memory.copied.resize(slots);
  for (std::size_t i = 0; i < layout.buckets.size(); ++i) {
    const GradientBucket& bucket = layout.buckets[i];
    memory.wire_types.push_back(ranks > 1 ? wire_type(type, bucket.type, compute_type_of(layout, i))
                                          : bucket.type);
    if (ranks == 1) continue;
    const DType wire = memory.wire_types[i];
    const auto bytes_as = [&](DType as) { return static_cast<std::size_t>(bucket.count) * size_of(as); };
    // A bucket is reduced in its wire type, and gathered in the type of its gradients or weights.
    const DType gathered = layout.shard_owners == 1 ? bucket.type : bucket.compute_type.value_or(DType::fp32);
    SlotBytes& slot = memory.slots[slot_of(i)];
    slot.exchanged = std::max({slot.exchanged, bytes_as(wire), bytes_as(gathered)});
    if (size_of(wire) == 2) slot.summed_from_16_bits = std::max(slot.summed_from_16_bits, bytes_as(wire));
    std::size_t& copied = memory.copied[slot_of(i)];
    if (wire != bucket.type) copied = std::max(copied, bytes_as(wire));
  }
  if (slots > 0) memory.slots.front().exchanged = std::max(memory.slots.front().exchanged, norms);
  if (ranks > 1 && statistics > 0)
    memory.slots.push_back({.exchanged = StatisticsExchange::exchanged_bytes(statistics, ranks)});
  if (ranks > 1 && sample.messages > 0) memory.slots.push_back(sample);
  return memory;
}

PartMemory GradientReduction::memory(const ParameterLayout& layout, const CommunicationOptions& options,
                                     int ranks, std::size_t statistics, std::size_t norms,
                                     const SlotBytes& sample) {
  const ReductionMemory memory =
      reduction_memory(layout, options.reduce_type, ranks, statistics, norms, sample);
  return {{"communication", memory.copied_bytes() + staging_bytes(options, ranks, memory.slots)}};
}

GradientReduction::GradientReduction(Communicator& communicator, ParameterStore& parameters, ReduceType type,
                                     const BatchMean& mean, std::size_t statistics, std::size_t norms,
                                     const SlotBytes& sample)
    : communicator_(communicator), layout_(parameters.layout()) {
  const int world = communicator.size();
  const ReductionMemory memory = reduction_memory(layout_, type, world, statistics, norms, sample);
  wire_ = Arena("gradients on the wire", memory.copied_bytes());
  std::vector<std::size_t> offsets;  // of each slot
  std::size_t end = 0;
  for (const std::size_t slot : memory.copied) {
    offsets.push_back(end);
    end += aligned_bytes(slot);
  }

  const std::vector<BucketSlice> slices = slices_of_rank(layout_, communicator.rank(), world);
  for (std::size_t i = 0; i < layout_.buckets.size(); ++i) {
    const GradientBucket& bucket = layout_.buckets[i];
    BucketPlan plan;
    plan.gradients = plan.wire = parameters.gradient(bucket);
    const DType wire = memory.wire_types[i];
    if (wire != bucket.type) plan.wire = wire_.tensor(offsets[slot_of(i)], wire, 1, bucket.count);
    plan.division = mean.division(bucket.type, wire);
    remaining_.push_back(plan.division.left);
    own_slices_.push_back(plan.gradients.elements(slices[i].first, slices[i].count));
    if (layout_.cuts_gradients()) {
      own_slices_.back() = parameters.held_gradients(i);
      plan.padding = padding_of(parameters, i);
    }
    plans_.push_back(plan);
  }
  if (world > 1) communicator.reserve(memory.slots);
}

void GradientReduction::start(const Execution& exec, std::size_t bucket) {
  make_room(exec, bucket);
  const BucketPlan& plan = plans_[bucket];
  for (const Tensor& padding : plan.padding) fill(exec, padding, 0);
  if (plan.wire.data() != plan.gradients.data())
    convert_scaled(exec, plan.gradients, plan.wire, plan.division.into_wire);
  const std::size_t slot = slot_of(bucket);
  requests_[slot] = communicator_.start_reduce_scatter(
      exec, buffer_of(plan.wire), buffer_of(own_slices_[bucket]), plan.division.of_sum, slot);
}

void GradientReduction::make_room(const Execution& exec, std::size_t bucket) {
  if (bucket >= buckets_in_flight) complete(exec, std::min(started_, bucket - buckets_in_flight + 1));
}

void GradientReduction::complete(const Execution& exec, std::size_t buckets) {
  for (; completed_ < buckets; ++completed_) communicator_.wait(exec, requests_[slot_of(completed_)]);
}

void GradientReduction::block_done(const Execution& exec, std::size_t block) {
  if (communicator_.size() == 1) return;
  const std::vector<GradientBucket>& buckets = layout_.buckets;
  while (started_ < plans_.size() && buckets[started_].last_block >= block) start(exec, started_++);
  if (!layout_.cuts_gradients()) return;
  for (std::size_t i = started_; i < plans_.size() && buckets[i].first_block + 1 >= block; ++i)
    make_room(exec, i);
}

void GradientReduction::finish(const Execution& exec) {
  if (communicator_.size() == 1) return;
  const Region region("reduce gradients");
  while (started_ < plans_.size()) start(exec, started_++);
  complete(exec, plans_.size());
  started_ = completed_ = 0;
}

void GradientReduction::finish_with_zeros(const Execution& exec) {
  const bool is_alone = communicator_.size() == 1;
  for (std::size_t i = started_; i < plans_.size(); ++i) {
    if (!is_alone) make_room(exec, i);
    fill(exec, plans_[i].gradients, 0);
    if (!is_alone) start(exec, started_++);
  }
  finish(exec);
}

}  // namespace mylos
