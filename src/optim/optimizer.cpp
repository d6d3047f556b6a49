#include "mylos/optim/optimizer.hpp"

#include <map>
#include <utility>

#include "mylos/base/region.hpp"

namespace mylos {

std::vector<std::string_view> Optimizer::moment_names_of(OptimizerType type) {
  if (type == OptimizerType::sgd) return {"m"};
  return {"m", "v"};
}

Optimizer::Optimizer(const OptimizerOptions& options, const ParameterStore& parameters,
                     std::span<const float> gradient_divisors)
    : names_(moment_names_of(options.type)) {
  for (const std::string_view name : names_) {
    moments_.emplace_back("moment " + std::string(name), parameters.layout().master_bytes());
  }
  std::map<std::pair<DType, DType>, std::vector<UpdateSpan>> spans;
  for (const ParameterSlot& slot : parameters.layout().slots) {
    const Tensor gradient = parameters.gradient(slot);
    const Tensor weight = parameters.compute_weight(slot);
    spans[{gradient.type(), weight.type()}].push_back(
        {.lr_factor = slot.spec.lr_factor,
         .count = slot.size(),
         .gradient = gradient.data(),
         .master = parameters.master(slot).as<float>(),
         .m = moment(0, slot).as<float>(),
         .v = names_.size() > 1 ? moment(1, slot).as<float>() : nullptr,
         .weight = weight.data(),
         .decay = slot.spec.decay_factor * static_cast<float>(options.weight_decay),
         .inverse_divisor = 1.0f / gradient_divisors[slot.bucket]});
  }
  for (auto& [types, same] : spans) passes_.emplace_back(options, types.first, types.second, std::move(same));
}

std::size_t Optimizer::memory_bytes(const OptimizerOptions& options, const ParameterLayout& layout) {
  return moment_names_of(options.type).size() * layout.master_bytes();
}

std::size_t Optimizer::list_bytes(const ParameterLayout& layout) {
  std::map<std::pair<DType, DType>, std::size_t> bytes;
  for (const ParameterSlot& slot : layout.slots)
    bytes[{layout.buckets[slot.bucket].type, slot.spec.type}] += sizeof(UpdateSpan);
  std::size_t total = 0;
  for (const auto& [types, list] : bytes) total += view_bytes(list);
  return total;
}

Tensor Optimizer::moment(std::size_t index, const ParameterSlot& slot) const {
  return moments_[index].tensor(static_cast<std::size_t>(slot.offset) * sizeof(float), DType::fp32,
                                slot.spec.rows, slot.spec.columns);
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
