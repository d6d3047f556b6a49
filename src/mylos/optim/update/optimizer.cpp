#include "mylos/optim/update/optimizer.hpp"

#include <map>
#include <optional>
#include <tuple>

#include "mylos/base/device/device_array_views.hpp"
#include "mylos/base/device/region.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/optim/update/parameter_groups.hpp"

namespace mylos {
namespace {

std::size_t moment_bytes(const ParameterLayout& layout) {
  return static_cast<std::size_t>(layout.elements / layout.shard_owners) * sizeof(float);
}

/// Returns the compute weights that the update writes in addition to the masters. None if they are the float
/// masters themselves, or if they are rounded only after they have been gathered.
std::optional<Tensor> written_weights(const ParameterStore& parameters, const ParameterSlot& slot) {
  const GradientBucket& bucket = parameters.layout().buckets[slot.bucket];
  const bool are_rounded_later = parameters.layout().shard_owners > 1 && !bucket.compute_type;
  if (slot.spec.type == DType::fp32 || are_rounded_later) return std::nullopt;
  return parameters.compute_weight(slot);
}

/// Returns the slots of each bucket. Slots are in the order of their buckets.
std::vector<SlotRange> slots_of_buckets(const ParameterLayout& layout) {
  std::vector<SlotRange> ranges(layout.buckets.size());
  for (std::size_t i = layout.slots.size(); i-- > 0;) {
    SlotRange& range = ranges[layout.slots[i].bucket];
    range = {i, range.count + 1};
  }
  return ranges;
}

}  // namespace

std::vector<std::string_view> Optimizer::moment_names_of(OptimizerType type) {
  if (traits_of(type).moments == 1) return {"m"};
  return {"m", "v"};
}

std::size_t Optimizer::array_count(const OptimizerOptions& options) {
  return static_cast<std::size_t>(traits_of(options.type).moments) + (options.average > 0 ? 1 : 0);
}

bool Optimizer::share_moments(OptimizerType a, OptimizerType b) {
  return a == b || (traits_of(a).moments == 2 && traits_of(b).moments == 2);
}

Optimizer::Optimizer(const OptimizerOptions& options, const ParameterStore& parameters,
                     std::span<const float> gradient_divisors, bool by_bucket, std::int64_t health_records,
                     std::uint64_t seed)
    : names_(moment_names_of(options.type)),
      parts_(parameters.layout().slots.size()),
      by_bucket_(by_bucket),
      is_sharded_(parameters.layout().shard_owners > 1),
      slots_of_group_(by_bucket ? slots_of_buckets(parameters.layout())
                                : std::vector<SlotRange>{{0, parameters.layout().slots.size()}}),
      trust_(traits_of(options.type).has_trust_ratios ? std::optional<TrustRatios>(parameters.layout())
                                                      : std::nullopt),
      health_(health_records > 0 ? HealthRing(health_records, parameters.layout()) : HealthRing()),
      spans_(make_device_array<UpdateSpan>("update spans", parameters.layout().slots.size())) {
  const ParameterLayout& layout = parameters.layout();
  for (const std::string_view name : names_) {
    moments_.emplace_back("moment " + std::string(name), moment_bytes(layout));
  }
  if (options.average > 0) average_ = Arena("average of weights", moment_bytes(layout));
  std::map<std::tuple<std::size_t, DType, DType, bool>, std::vector<UpdateSpan>> spans;
  std::int64_t end = 0;  // end of the slices before, in the moments' arenas
  for (const BucketSlice& slice : parameters.held_slices()) {
    for (const ParameterPart& part : slice.parts) {
      const ParameterSlot& slot = layout.slots[part.slot];
      parts_[part.slot] = {part.slot, part.first, part.count, end + part.offset};
      const auto own = [&](const Tensor& all) { return all.elements(part.first, part.count); };
      const Tensor gradient = parameters.held_gradients(slot.bucket).elements(part.offset, part.count);
      const Tensor master = parameters.held_master(part.slot).values;
      const bool has_master = master.type() == DType::fp32;
      const std::optional<Tensor> written = has_master ? written_weights(parameters, slot) : std::nullopt;
      const Tensor weight = written ? own(*written) : master;
      if (part.first % static_cast<std::int64_t>(slice_granularity) != 0)
        fail_run(errors::internal, "'{}' is sharded at element {}, which is not a multiple of {}",
                 slot.path(), part.first, slice_granularity);
      const ParameterSettings settings = settings_of(options, slot);
      const std::size_t group = by_bucket ? slot.bucket : 0;
      spans[{group, gradient.type(), weight.type(), has_master}].push_back(
          {.slot = static_cast<std::int32_t>(part.slot),
           .lr_factor = settings.lr_factor,
           .count = part.count,
           .gradient = gradient.data(),
           .master = has_master ? master.as<float>() : nullptr,
           .m = moment(0, part.slot).values.as<float>(),
           .v = names_.size() > 1 ? moment(1, part.slot).values.as<float>() : nullptr,
           .trust = trust_ ? trust_->ratio(part.slot) : nullptr,
           .weight = weight.data(),
           .average = averages() ? average(part.slot).values.as<float>() : nullptr,
           .decay = settings.decay,
           .frozen = settings.frozen,
           .inverse_divisor = 1.0f / gradient_divisors[slot.bucket],
           .rounding = RandomStream(seed, RandomPurpose::weight_rounding, slot.path()),
           .first = part.first});
    }
    end += slice.count;
  }
  std::size_t begin = 0;
  for (auto& [key, same] : spans) {
    const auto& [group, gradient, weight, has_masters] = key;
    const UpdateTypes types{gradient, weight, has_masters};
    const std::size_t past = begin + same.size();
    const std::span memory(spans_.data() + begin, same.size());
    passes_.push_back({group, UpdatePass(options, types, std::move(same), memory)});
    begin = past;
  }
}

std::size_t Optimizer::memory_bytes(const OptimizerOptions& options, const ParameterLayout& layout) {
  return array_count(options) * moment_bytes(layout);
}

PartMemory Optimizer::memory(const OptimizerOptions& options, const ParameterLayout& layout) {
  const std::size_t average = options.average > 0 ? moment_bytes(layout) : 0;
  return {{"optimizer moments", memory_bytes(options, layout) - average}, {"average of weights", average}};
}

std::size_t Optimizer::list_bytes(const OptimizerOptions& options, const ParameterLayout& layout) {
  const std::size_t ratios = traits_of(options.type).has_trust_ratios ? TrustRatios::memory_bytes(layout) : 0;
  return view_bytes(layout.slots.size() * sizeof(UpdateSpan)) + ratios;
}

std::size_t Optimizer::exchanged_bytes(const OptimizerOptions& options, const ParameterLayout& layout) {
  const bool measures = traits_of(options.type).has_trust_ratios && layout.shard_owners > 1;
  return measures ? TrustRatios::exchanged_bytes(layout) : 0;
}

HeldPart Optimizer::local_part(const Arena& arena, std::size_t slot) const {
  const ParameterPart& part = parts_[slot];
  if (part.count == 0) return {};
  const auto offset = static_cast<std::size_t>(part.offset) * sizeof(float);
  return {part.first, arena.tensor(offset, DType::fp32, 1, part.count)};
}

void Optimizer::begin_average(const Execution& exec, const ParameterStore& parameters) const {
  if (!averages()) return;
  for (std::size_t slot = 0; slot < parts_.size(); ++slot) {
    if (parts_[slot].count > 0) convert(exec, parameters.held_master(slot).values, average(slot).values);
  }
}

std::size_t Optimizer::bytes() const {
  std::size_t total = average_.bytes();
  for (const Arena& arena : moments_) total += arena.bytes();
  return total;
}

CommunicationBuffer Optimizer::measure(const Execution& exec, const UpdateControl* control) const {
  if (!trust_ || !is_sharded_) return {};
  const Region region("measure");
  for (const GroupPass& group : passes_) group.pass.measure(exec, control, *trust_);
  trust_->close_sums(exec, {0, parts_.size()});
  return trust_->digits();
}

void Optimizer::divide(const Execution& exec) const {
  trust_->divide(exec, {0, parts_.size()});
}

void Optimizer::set_ratios(const Execution& exec, const UpdateControl* control, std::size_t group) const {
  if (!trust_ || is_sharded_) return;
  for (const GroupPass& pass : passes_) {
    if (pass.group == group) pass.pass.measure(exec, control, *trust_);
  }
  trust_->close_sums(exec, slots_of_group_[group]);
  trust_->divide(exec, slots_of_group_[group]);
}

void Optimizer::update(const Execution& exec, const UpdateControl* control) const {
  const Region region("update");
  for (std::size_t group = 0; group < slots_of_group_.size(); ++group) set_ratios(exec, control, group);
  for (const GroupPass& group : passes_) group.pass.run(exec, control, health_);
}

void Optimizer::update(const Execution& exec, const UpdateControl* control, std::size_t bucket) const {
  if (!by_bucket_) fail_run(errors::internal, "this optimizer updates all buckets together");
  const Region region("update");
  set_ratios(exec, control, bucket);
  for (const GroupPass& group : passes_) {
    if (group.group == bucket) group.pass.run(exec, control, health_);
  }
}

}  // namespace mylos
