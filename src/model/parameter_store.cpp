#include "mylos/model/parameter_store.hpp"

#include "mylos/base/random.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch.hpp"

namespace mylos {
namespace {

void draw_uniform(const Execution& exec, const Tensor& master, const RandomStream& stream, float bound) {
  float* values = master.as<float>();
  const auto columns = static_cast<std::uint64_t>(master.columns());
  for_each_element(
      exec, "draw weights", master.size(), KOKKOS_LAMBDA(const std::int64_t i) {
        const auto element = static_cast<std::uint64_t>(i);
        const float uniform = uniform_from(stream.word(0, element / columns, element % columns));
        values[i] = (2.0f * uniform - 1.0f) * bound;
      });
}

/// Box and Muller (Annals of Mathematical Statistics 29, 1958): two normal numbers from two uniform ones. A
/// random block gives the four elements that share it two pairs.
void draw_normal(const Execution& exec, const Tensor& master, const RandomStream& stream, float deviation) {
  float* values = master.as<float>();
  const auto columns = static_cast<std::uint64_t>(master.columns());
  for_each_element(
      exec, "draw weights", master.size(), KOKKOS_LAMBDA(const std::int64_t i) {
        const auto row = static_cast<std::uint64_t>(i) / columns;
        const auto column = static_cast<std::uint64_t>(i) % columns;
        const RandomBlock random = stream.block(0, row, static_cast<std::uint32_t>(column / 4));
        const bool second_pair = column % 4 >= 2;
        const float first = uniform_from(second_pair ? random.word[2] : random.word[0]);
        const float second = uniform_from(second_pair ? random.word[3] : random.word[1]);
        const float radius = Kokkos::sqrt(-2.0f * Kokkos::log(1.0f - first));  // 1 - first is never 0
        const float angle = 6.2831853f * second;
        const float normal = radius * (column % 2 == 0 ? Kokkos::cos(angle) : Kokkos::sin(angle));
        values[i] = deviation * normal;
      });
}

}  // namespace

ParameterStore::ParameterStore(ParameterLayout layout)
    : layout_(std::move(layout)),
      masters_("master weights", layout_.master_bytes()),
      compute_("compute weights", layout_.compute_bytes),
      gradient_arena_("gradients", layout_.gradient_bytes) {
  for (const auto& slots : layout_.slots_of_block) {
    auto& weights = weights_.emplace_back();
    auto& gradients = gradients_.emplace_back();
    for (const std::size_t index : slots) {
      const ParameterSlot& slot = layout_.slots[index];
      weights.emplace_back(slot.spec.name, compute_weight(slot));
      gradients.emplace_back(slot.spec.name, gradient(slot));
    }
  }
  if (const auto& borrowed = layout_.borrowed_by_head) {
    const ParameterSlot& slot = layout_.slots[borrowed->slot];
    weights_.back().emplace_back(borrowed->name, compute_weight(slot, borrowed->compute_offset));
    gradients_.back().emplace_back(borrowed->name, gradient(slot));
  }
}

Tensor ParameterStore::master(const ParameterSlot& slot) const {
  return masters_.tensor(static_cast<std::size_t>(slot.offset) * sizeof(float), DType::fp32, slot.spec.rows,
                         slot.spec.columns);
}

Tensor ParameterStore::compute_weight(const ParameterSlot& slot, std::optional<std::size_t> offset) const {
  if (!offset) return master(slot);
  return compute_.tensor(*offset, slot.spec.type, slot.spec.rows, slot.spec.columns);
}

Tensor ParameterStore::gradient(const ParameterSlot& slot) const {
  return gradient_arena_.tensor(slot.gradient_offset, layout_.buckets[slot.bucket].type, slot.spec.rows,
                                slot.spec.columns);
}

Tensor ParameterStore::gradient(const GradientBucket& bucket) const {
  return gradient_arena_.tensor(bucket.gradient_offset, bucket.type, 1, bucket.count);
}

void ParameterStore::initialize(const Execution& exec, std::uint64_t seed) {
  for (const ParameterSlot& slot : layout_.slots) {
    const RandomStream stream(seed, RandomPurpose::initial_weights, slot.path());
    if (slot.spec.initial_bound > 0) {
      draw_uniform(exec, master(slot), stream, slot.spec.initial_bound);
    } else if (slot.spec.initial_std > 0) {
      draw_normal(exec, master(slot), stream, slot.spec.initial_std);
    } else {
      fill(exec, master(slot), slot.spec.initial_value);
    }
  }
  refresh_compute_weights(exec);
}

void ParameterStore::refresh_compute_weights(const Execution& exec) {
  for (const ParameterSlot& slot : layout_.slots) {
    if (slot.compute_offset) convert(exec, master(slot), compute_weight(slot));
  }
}

void ParameterStore::clear_gradients(const Execution& exec) {
  for (const GradientBucket& bucket : layout_.buckets) fill(exec, gradient(bucket), 0);
}

}  // namespace mylos
