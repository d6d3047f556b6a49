#include "mylos/optim/update/update_pass.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/tile_values.hpp"
#include "mylos/optim/update/health_sums.hpp"
#include "mylos/optim/update/moment_pass.hpp"
#include "mylos/optim/update/parameter_average.hpp"
#include "mylos/optim/update/rounded_update.hpp"
#include "mylos/optim/update/update_formulas.hpp"

namespace mylos {
namespace {

constexpr std::int64_t block_elements = UpdatePass::block_elements;

/// The elements of a block in each of the arenas.
template <class Gradient, class Weight, class Formula>
struct Block {
  std::int64_t count;
  const Gradient* gradient;
  Weight* weight;
  float* master;
  float* m;
  float* v;
  Formula formula;

  KOKKOS_INLINE_FUNCTION Block(const UpdateRule& rule, const UpdateSpan& span, const UpdateControl& control,
                               std::int64_t first)
      : count(launch::smaller(block_elements, span.count - first)),
        gradient(static_cast<const Gradient*>(span.gradient) + first),
        weight(static_cast<Weight*>(span.weight) + first),
        master(span.master + first),
        m(span.m + first),
        v(Formula::has_v ? span.v + first : nullptr),
        formula(rule, span, control) {}

  KOKKOS_FORCEINLINE_FUNCTION ElementHealth update(std::int64_t i) const {
    const ElementHealth old = inspect(i);
    float new_m = m[i];
    float new_v = Formula::has_v ? v[i] : 0.0f;
    const float updated = formula(old.before, old.gradient, new_m, new_v);
    master[i] = updated;
    if constexpr (Formula::updates_moments) m[i] = new_m;
    if constexpr (Formula::updates_moments && Formula::has_v) v[i] = new_v;
    if constexpr (!std::is_same_v<Weight, float>) weight[i] = from_float<Weight>(updated);
    return {old.gradient, old.before, updated};
  }
  KOKKOS_FORCEINLINE_FUNCTION ElementHealth inspect(std::int64_t i) const {
    return {to_float(gradient[i]), master[i], master[i]};
  }

  /// The elements that a lane of a device reads and writes together: 16 bytes of floats.
  static constexpr std::int64_t group = 4;
  template <class T>
  using Group = device_tile::Elements<T, group>;

  /// Returns true if all arrays are aligned for that. The layout of parameters aligns them.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool is_aligned() const {
    return device_tile::is_aligned<group>(gradient) && device_tile::is_aligned<group>(weight) &&
           device_tile::is_aligned<group>(master) && device_tile::is_aligned<group>(m) &&
           (!Formula::has_v || device_tile::is_aligned<group>(v));
  }
  /// Updates the group that begins at element `first`. Reads everything before it writes.
  KOKKOS_FORCEINLINE_FUNCTION void update_group(std::int64_t first) const {
    const auto gradients = *reinterpret_cast<const Group<Gradient>*>(gradient + first);
    auto masters = *reinterpret_cast<const Group<float>*>(master + first);
    auto new_m = *reinterpret_cast<const Group<float>*>(m + first);
    Group<float> new_v{};
    if constexpr (Formula::has_v) new_v = *reinterpret_cast<const Group<float>*>(v + first);
    Group<Weight> weights;
    for (std::int64_t i = 0; i < group; ++i) {
      masters.element[i] =
          formula(masters.element[i], to_float(gradients.element[i]), new_m.element[i], new_v.element[i]);
      weights.element[i] = from_float<Weight>(masters.element[i]);
    }
    *reinterpret_cast<Group<float>*>(master + first) = masters;
    if constexpr (Formula::updates_moments) {
      *reinterpret_cast<Group<float>*>(m + first) = new_m;
      if constexpr (Formula::has_v) *reinterpret_cast<Group<float>*>(v + first) = new_v;
    }
    if constexpr (!std::is_same_v<Weight, float>) *reinterpret_cast<Group<Weight>*>(weight + first) = weights;
  }
};

template <class AnyBlock>
KOKKOS_FORCEINLINE_FUNCTION void update_elements(const Row& row, const AnyBlock& block) {
  if constexpr (runs_on_host) {
    row.for_each(block.count, [=](const std::int64_t i) { block.update(i); });
  } else {
    const std::int64_t groups = block.is_aligned() ? block.count / AnyBlock::group : 0;
    const std::int64_t in_groups = groups * AnyBlock::group;
    row.for_each(groups, [=](const std::int64_t i) { block.update_group(i * AnyBlock::group); });
    row.for_each(block.count - in_groups, [=](const std::int64_t i) { block.update(in_groups + i); });
  }
}

template <class Gradient, class Weight, class Formula>
void update_blocks(const Execution& exec, std::int64_t blocks, const UpdateSpan* spans, std::size_t count,
                   const UpdateRule& rule, const UpdateControl* control) {
  for_each_row(
      exec, "update", blocks, KOKKOS_LAMBDA(const std::int64_t index, const Row& row) {
        const UpdateControl now = *control;
        if (now.apply == 0) return;
        const UpdateSpan& span = span_of(spans, count, index);
        if (span.frozen) return;
        const Block<Gradient, Weight, Formula> block(rule, span, now,
                                                     (index - span.first_block) * block_elements);
        update_elements(row, block);
      });
}

/// Updates the blocks, and in observed steps also computes the sums of each block.
template <class Gradient, class Weight, class Formula>
void update_and_sum_blocks(const Execution& exec, std::int64_t blocks, const UpdateSpan* spans,
                           std::size_t count, const UpdateRule& rule, const UpdateControl* control,
                           ParameterHealth* sums) {
  const float min_normal = min_normal_of<Gradient>;
  for_each_row(
      exec, "update", blocks, KOKKOS_LAMBDA(const std::int64_t index, const Row& row) {
        const UpdateControl now = *control;
        const bool is_seen = now.health_record >= 0;
        if (now.apply == 0 && !is_seen) return;
        const UpdateSpan& span = span_of(spans, count, index);
        const Block<Gradient, Weight, Formula> block(rule, span, now,
                                                     (index - span.first_block) * block_elements);
        if (!is_seen && span.frozen) return;
        if (!is_seen) return update_elements(row, block);
        const HealthScale scale{now.unscale * span.inverse_divisor, min_normal};
        const ParameterHealth sum =
            now.apply != 0 && !span.frozen
                ? sum_health(row, block.count, scale, [=](const std::int64_t i) { return block.update(i); })
                : sum_health(row, block.count, scale, [=](const std::int64_t i) { return block.inspect(i); });
        row.once([=]() { sums[index] = sum; });
      });
}

/// Adds the sums of blocks to those of parameters.
void record_health(const Execution& exec, const UpdateSpan* spans, std::size_t count,
                   const UpdateControl* control, const HealthRing& health) {
  const ParameterHealth* blocks = health.blocks();
  ParameterHealth* records = health.record(0);
  const std::int64_t parameters = health.parameters();
  for_each_row(
      exec, "health", static_cast<std::int64_t>(count),
      KOKKOS_LAMBDA(const std::int64_t index, const Row& row) {
        const std::int32_t record = control->health_record;
        if (record < 0) return;
        const UpdateSpan& span = spans[index];
        const ParameterHealth sum =
            sum_blocks(row, launch::ceiling_quotient(span.count, block_elements), blocks + span.first_block);
        row.once([=]() { records[record * parameters + span.slot] = sum; });
      });
}

}  // namespace

UpdatePass::UpdatePass(const OptimizerOptions& options, const UpdateTypes& types,
                       std::vector<UpdateSpan> spans, std::span<UpdateSpan> memory)
    : options_(options), types_(types), spans_(memory) {
  for (UpdateSpan& span : spans) {
    span.first_block = static_cast<std::int32_t>(blocks_);  // 2^31 blocks: 32 TiB of masters
    blocks_ += launch::ceiling_quotient(span.count, block_elements);
  }
  Kokkos::deep_copy(Kokkos::View<UpdateSpan*, Device>(spans_.data(), spans_.size()),
                    Kokkos::View<UpdateSpan*, Kokkos::HostSpace>(spans.data(), spans.size()));
}

std::size_t UpdatePass::max_blocks(const ParameterLayout& layout) {
  return static_cast<std::size_t>(launch::ceiling_quotient(layout.elements, block_elements)) +
         layout.slots.size();
}

void UpdatePass::measure(const Execution& exec, const UpdateControl* control,
                         const TrustRatios& ratios) const {
  update_moments(exec, {types_, rule_of(options_), blocks_, spans_, control}, ratios);
}

void UpdatePass::run(const Execution& exec, const UpdateControl* control, const HealthRing& health) const {
  types_.has_masters ? update_masters(exec, control, health) : update_rounded_weights(exec, control, health);
  if (options_.average > 0) {
    const auto new_share = static_cast<float>(1.0 - options_.average);
    update_average(exec, types_, blocks_, spans_, control, new_share);
  }
  if (health.records() > 0) record_health(exec, spans_.data(), spans_.size(), control, health);
}

void UpdatePass::update_masters(const Execution& exec, const UpdateControl* control,
                                const HealthRing& health) const {
  const UpdateRule rule = rule_of(options_);
  dispatch_pair(types_.weight, types_.gradient, [&]<class W, class G>(TypeTag<W>, TypeTag<G>) {
    dispatch_formula(options_.type, [&]<class F>(FormulaTag<F>) {
      if (health.records() > 0) {
        update_and_sum_blocks<G, W, F>(exec, blocks_, spans_.data(), spans_.size(), rule, control,
                                       health.blocks());
      } else {
        update_blocks<G, W, F>(exec, blocks_, spans_.data(), spans_.size(), rule, control);
      }
    });
  });
}

void UpdatePass::update_rounded_weights(const Execution& exec, const UpdateControl* control,
                                        const HealthRing& health) const {
  const PassWork update{types_, rule_of(options_), blocks_, spans_, control};
  update_rounded(exec, update, health.records() > 0 ? health.blocks() : nullptr);
}

}  // namespace mylos
