#include "mylos/optim/optimizer.hpp"

#include <map>
#include <utility>

#include "mylos/base/region.hpp"

namespace mylos {
namespace {

std::size_t moment_bytes(std::span<const BucketSlice> slices) {
  std::size_t elements = 0;
  for (const BucketSlice& slice : slices) elements += static_cast<std::size_t>(slice.count);
  return elements * sizeof(float);
}

}  // namespace

std::vector<std::string_view> Optimizer::moment_names_of(OptimizerType type) {
  if (type == OptimizerType::sgd) return {"m"};
  return {"m", "v"};
}

Optimizer::Optimizer(const OptimizerOptions& options, const ParameterStore& parameters,
                     std::span<const BucketSlice> slices, std::span<const float> gradient_divisors)
    : names_(moment_names_of(options.type)), parts_(parameters.layout().slots.size()) {
  for (const std::string_view name : names_) {
    moments_.emplace_back("moment " + std::string(name), moment_bytes(slices));
  }
  std::map<std::pair<DType, DType>, std::vector<UpdateSpan>> spans;
  std::int64_t end = 0;  // of the slices before, in the moments' arenas
  for (const BucketSlice& slice : slices) {
    for (const ParameterPart& part : slice.parts) {
      const ParameterSlot& slot = parameters.layout().slots[part.slot];
      parts_[part.slot] = {part.slot, part.first, part.count, end + part.offset};
      const auto own = [&](const Tensor& all) { return all.elements(part.first, part.count); };
      const Tensor gradient = own(parameters.gradient(slot));
      const Tensor weight = own(parameters.compute_weight(slot));
      spans[{gradient.type(), weight.type()}].push_back(
          {.lr_factor = slot.spec.lr_factor,
           .count = part.count,
           .gradient = gradient.data(),
           .master = own(parameters.master(slot)).as<float>(),
           .m = moment(0, part.slot).values.as<float>(),
           .v = names_.size() > 1 ? moment(1, part.slot).values.as<float>() : nullptr,
           .weight = weight.data(),
           .decay = slot.spec.decay_factor * static_cast<float>(options.weight_decay),
           .inverse_divisor = 1.0f / gradient_divisors[slot.bucket]});
    }
    end += slice.count;
  }
  for (auto& [types, same] : spans) passes_.emplace_back(options, types.first, types.second, std::move(same));
}

std::size_t Optimizer::memory_bytes(const OptimizerOptions& options, std::span<const BucketSlice> slices) {
  return moment_names_of(options.type).size() * moment_bytes(slices);
}

std::size_t Optimizer::list_bytes(const ParameterLayout& layout, std::span<const BucketSlice> slices) {
  std::map<std::pair<DType, DType>, std::size_t> bytes;
  for (const BucketSlice& slice : slices) {
    for (const ParameterPart& part : slice.parts) {
      const ParameterSpec& spec = layout.slots[part.slot].spec;
      bytes[{spec.gradient_type, spec.type}] += sizeof(UpdateSpan);
    }
  }
  std::size_t total = 0;
  for (const auto& [types, list] : bytes) total += view_bytes(list);
  return total;
}

MomentPart Optimizer::moment(std::size_t index, std::size_t slot) const {
  const ParameterPart& part = parts_[slot];
  const auto offset = static_cast<std::size_t>(part.offset) * sizeof(float);
  return {part.first, moments_[index].tensor(offset, DType::fp32, 1, part.count)};
}

std::size_t Optimizer::bytes() const {
  std::size_t total = 0;
  for (const Arena& arena : moments_) total += arena.bytes();
  return total;
}

void Optimizer::update(const Execution& exec, const UpdateControl* control) const {
  const Region region("update");
  for (const UpdatePass& pass : passes_) pass.run(exec, control);
}

}  // namespace mylos
