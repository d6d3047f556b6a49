#include "mylos/model/parameters/parameter_store.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/base/tensor_views.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/model/parameters/initial_values.hpp"

namespace mylos {
namespace {

/// The range of a parameter's elements to draw.
struct Drawn {
  std::uint64_t first;
  std::int64_t count;
  std::uint64_t columns;  // of the complete parameter
};

template <class T>
void draw_uniform(const Execution& exec, const Drawn& drawn, T* values, const RandomStream& stream,
                  float bound) {
  const std::uint64_t begin = drawn.first;
  const std::uint64_t columns = drawn.columns;
  for_each_element(
      exec, "draw weights", drawn.count, KOKKOS_LAMBDA(const std::int64_t i) {
        const std::uint64_t element = begin + static_cast<std::uint64_t>(i);
        const float uniform = uniform_from(stream.word(0, element / columns, element % columns));
        values[i] = from_float<T>((2.0f * uniform - 1.0f) * bound);
      });
}

/// Draws by Box and Muller (Annals of Mathematical Statistics 29, 1958): two normal numbers from two uniform
/// ones. A random block gives two pairs, for the four elements that share it.
template <class T>
void draw_normal(const Execution& exec, const Drawn& drawn, T* values, const RandomStream& stream,
                 float deviation) {
  const std::uint64_t begin = drawn.first;
  const std::uint64_t columns = drawn.columns;
  for_each_element(
      exec, "draw weights", drawn.count, KOKKOS_LAMBDA(const std::int64_t i) {
        const std::uint64_t row = (begin + static_cast<std::uint64_t>(i)) / columns;
        const std::uint64_t column = (begin + static_cast<std::uint64_t>(i)) % columns;
        const RandomBlock random = stream.block(0, row, static_cast<std::uint32_t>(column / 4));
        const bool second_pair = column % 4 >= 2;
        const float first = uniform_from(second_pair ? random.word[2] : random.word[0]);
        const float second = uniform_from(second_pair ? random.word[3] : random.word[1]);
        const float radius = Kokkos::sqrt(-2.0f * Kokkos::log(1.0f - first));  // 1 - first is never 0
        const float angle = 6.2831853f * second;
        const float normal = radius * (column % 2 == 0 ? Kokkos::cos(angle) : Kokkos::sin(angle));
        values[i] = from_float<T>(deviation * normal);
      });
}

/// Copies the elements from `first` on of a matrix in host memory.
template <class T>
void copy_rounded(const std::vector<float>& matrix, std::int64_t first, const Tensor& values) {
  const auto target = values.flat<T>();
  const auto copy = Kokkos::create_mirror_view(target);
  for (std::int64_t i = 0; i < values.size(); ++i)
    copy(i) = from_float<T>(matrix[static_cast<std::size_t>(first + i)]);
  Kokkos::deep_copy(target, copy);
}

/// Draws the initial values of one parameter.
class Draw {
 public:
  Draw(const Execution& exec, const ParameterSlot& slot, std::uint64_t seed,
       std::span<const InitialRule> rules)
      : exec_(exec), spec_(slot.spec), stream_(seed, RandomPurpose::initial_weights, slot.path()) {
    const InitialRule* rule = rule_of(rules, slot.path());
    if (rule == nullptr) return;
    spec_ = with_initial_values(spec_, *rule);
    if (rule->kind == Initializer::orthogonal)
      matrix_ = orthogonal_matrix(stream_, spec_.rows, spec_.columns, rule->gain.value_or(1));
  }

  /// Draws the elements from `first` on, rounded to the type of `values`.
  void into(std::int64_t first, const Tensor& values) const {
    const Drawn drawn{static_cast<std::uint64_t>(first), values.size(),
                      static_cast<std::uint64_t>(spec_.columns)};
    if (!matrix_.empty()) {
      dispatch(values.type(), [&]<class T>(TypeTag<T>) { copy_rounded<T>(matrix_, first, values); });
    } else if (spec_.initial_bound > 0) {
      dispatch(values.type(), [&]<class T>(TypeTag<T>) {
        draw_uniform(exec_, drawn, values.as<T>(), stream_, spec_.initial_bound);
      });
    } else if (spec_.initial_std > 0) {
      dispatch(values.type(), [&]<class T>(TypeTag<T>) {
        draw_normal(exec_, drawn, values.as<T>(), stream_, spec_.initial_std);
      });
    } else {
      fill(exec_, values, spec_.initial_value);
    }
  }

 private:
  const Execution& exec_;
  ParameterSpec spec_;
  RandomStream stream_;
  std::vector<float> matrix_;  // for distributions that are drawn as a complete matrix
};

}  // namespace

ParameterStore::ParameterStore(ParameterLayout layout, int rank)
    : layout_(std::move(layout)),
      held_(mylos::held_slices(layout_, rank)),
      held_parts_(layout_.slots.size()),
      masters_("master weights", layout_.master_bytes()),
      compute_("compute weights", layout_.compute_bytes),
      gradient_arena_("gradients", layout_.gradient_bytes),
      gradient_slices_("slices of gradients", layout_.slice_bytes) {
  for (const BucketSlice& slice : held_) {
    for (const ParameterPart& part : slice.parts) held_parts_[part.slot] = part;
  }
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
    weights_.back().emplace_back(borrowed->name,
                                 compute_weight(slot, borrowed->type, borrowed->compute_offset));
    gradients_.back().emplace_back(borrowed->name, gradient(slot));
  }
}

Tensor ParameterStore::master(const ParameterSlot& slot) const {
  if (layout_.shard_owners > 1)
    fail_run(errors::internal, "{}: its masters are sharded over {} ranks", slot.path(),
             layout_.shard_owners);
  if (!layout_.keeps_masters) return updated_weight(slot);
  return masters_.tensor(static_cast<std::size_t>(slot.offset) * sizeof(float), DType::fp32, slot.spec.rows,
                         slot.spec.columns);
}

Tensor ParameterStore::updated_weight(const ParameterSlot& slot) const {
  const DType type = layout_.moved_type(slot);
  if (type == slot.spec.type) return compute_weight(slot);
  return compute_weight(slot, type, layout_.borrowed_by_head.value().compute_offset);
}

Tensor ParameterStore::held_masters(std::size_t bucket) const {
  const GradientBucket& whole = layout_.buckets[bucket];
  const BucketSlice& slice = held_[bucket];
  if (!whole.held_first) return compute_weights(whole).elements(slice.first, slice.count);
  return masters_.tensor(static_cast<std::size_t>(*whole.held_first) * sizeof(float), DType::fp32, 1,
                         slice.count);
}

HeldPart ParameterStore::held_master(std::size_t slot) const {
  const ParameterPart& part = held_parts_[slot];
  if (part.count == 0) return {};
  if (!layout_.keeps_masters)
    return {part.first, updated_weight(layout_.slots[slot]).elements(part.first, part.count)};
  return {part.first, held_masters(layout_.slots[slot].bucket).elements(part.offset, part.count)};
}

Tensor ParameterStore::compute_weight(const ParameterSlot& slot, DType type,
                                      std::optional<std::size_t> offset) const {
  if (!offset) return master(slot);
  return compute_.tensor(*offset, type, slot.spec.rows, slot.spec.columns);
}

Tensor ParameterStore::compute_weights(const GradientBucket& bucket) const {
  return compute_.tensor(bucket.compute_offset, bucket.compute_type.value(), 1, bucket.count);
}

Tensor ParameterStore::borrowed_copy() const {
  const auto& borrowed = layout_.borrowed_by_head;
  if (!borrowed || !borrowed->compute_offset) return {};
  const ParameterSlot& slot = layout_.slots[borrowed->slot];
  if (borrowed->type == slot.spec.type) return {};
  return compute_weight(slot, borrowed->type, borrowed->compute_offset);
}

Tensor ParameterStore::gradient(const ParameterSlot& slot) const {
  return gradient_arena_.tensor(slot.gradient_offset, layout_.buckets[slot.bucket].type, slot.spec.rows,
                                slot.spec.columns);
}

Tensor ParameterStore::gradient(const GradientBucket& bucket) const {
  return gradient_arena_.tensor(bucket.gradient_offset, bucket.type, 1, bucket.count);
}

Tensor ParameterStore::held_gradients(std::size_t bucket) const {
  const GradientBucket& whole = layout_.buckets[bucket];
  const BucketSlice& slice = held_[bucket];
  if (!layout_.cuts_gradients()) return gradient(whole).elements(slice.first, slice.count);
  return gradient_slices_.tensor(whole.slice_offset, whole.type, 1, slice.count);
}

void ParameterStore::initialize(const Execution& exec, std::uint64_t seed,
                                std::span<const InitialRule> rules) {
  const Tensor copy = layout_.shard_owners > 1 ? borrowed_copy() : Tensor();
  for (std::size_t i = 0; i < layout_.slots.size(); ++i) {
    const ParameterSlot& slot = layout_.slots[i];
    const Draw draw(exec, slot, seed, rules);
    if (const HeldPart held = held_master(i); !held.values.empty()) draw.into(held.first, held.values);
    if (layout_.shard_owners == 1) continue;
    draw.into(0, compute_weight(slot));
    if (!copy.empty() && layout_.borrowed_by_head->slot == i) draw.into(0, copy);
  }
  if (layout_.shard_owners == 1) refresh_compute_weights(exec);
}

void ParameterStore::refresh_compute_weights(const Execution& exec) {
  if (layout_.shard_owners == 1) {
    for (const ParameterSlot& slot : layout_.slots) {
      const Tensor moved = master(slot);
      if (const Tensor read = compute_weight(slot); read.data() != moved.data()) convert(exec, moved, read);
    }
    return;
  }
  if (!layout_.keeps_masters) return;
  for (std::size_t i = 0; i < layout_.buckets.size(); ++i) {
    const GradientBucket& bucket = layout_.buckets[i];
    if (!bucket.compute_type || *bucket.compute_type == DType::fp32) continue;
    convert(exec, held_masters(i), compute_weights(bucket).elements(held_[i].first, held_[i].count));
  }
}

void ParameterStore::put_held_masters(const Execution& exec, std::size_t bucket) {
  const BucketSlice& own = held_[bucket];
  const Tensor target = gradient(layout_.buckets[bucket]).elements(own.first, own.count);
  if (layout_.keeps_masters) return convert(exec, held_masters(bucket), target);
  for (const ParameterPart& part : own.parts)
    convert(exec, held_master(part.slot).values, target.elements(part.offset, part.count));
}

void ParameterStore::take_gathered(const Execution& exec, std::size_t bucket) {
  for (const ParameterSlot& slot : layout_.slots) {
    if (slot.bucket == bucket) convert(exec, gradient(slot), compute_weight(slot));
  }
  const auto& borrowed = layout_.borrowed_by_head;
  const Tensor copy = borrowed_copy();
  if (copy.empty() || layout_.slots[borrowed->slot].bucket != bucket) return;
  convert(exec, gradient(layout_.slots[borrowed->slot]), copy);
}

}  // namespace mylos
