#include "mylos/optim/update/rounded_update.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/numbers/stochastic_rounding.hpp"
#include "mylos/kernels/launch/rounding_bits.hpp"
#include "mylos/kernels/launch/tile_values.hpp"
#include "mylos/optim/update/health_sums.hpp"

namespace mylos {
namespace {

/// The elements of a block in each of the arenas.
template <class Gradient, class Weight, class Formula>
struct WeightBlock {
  std::int64_t count;
  const Gradient* gradient;
  Weight* weight;
  float* m;
  float* v;
  Formula formula;
  RoundingBits rounding;
  std::int64_t first_element;  // of the parameter

  KOKKOS_INLINE_FUNCTION WeightBlock(const UpdateRule& rule, const UpdateSpan& span,
                                     const UpdateControl& control, std::int64_t first)
      : count(launch::smaller(UpdatePass::block_elements, span.count - first)),
        gradient(static_cast<const Gradient*>(span.gradient) + first),
        weight(static_cast<Weight*>(span.weight) + first),
        m(span.m + first),
        v(Formula::has_v ? span.v + first : nullptr),
        formula(rule, span, control),
        rounding(span.rounding, control.updates),
        first_element(span.first + first) {}

  KOKKOS_FORCEINLINE_FUNCTION void draw(std::int64_t tile, std::int64_t length, std::uint16_t* bits) const {
    rounding.of_tile(first_element + tile, length, bits);
  }
  KOKKOS_FORCEINLINE_FUNCTION ElementHealth update(std::int64_t i, std::uint16_t bits) const {
    const ElementHealth old = inspect(i);
    float new_m = m[i];
    float new_v = Formula::has_v ? v[i] : 0.0f;
    const float updated = formula(old.before, old.gradient, new_m, new_v);
    if constexpr (Formula::updates_moments) m[i] = new_m;
    if constexpr (Formula::updates_moments && Formula::has_v) v[i] = new_v;
    weight[i] = from_float<Weight>(stochastically_rounded<Weight>(updated, bits));
    return {old.gradient, old.before, updated};
  }
  /// The version for devices; calls each(element) for every element.
  template <class Each>
  KOKKOS_FORCEINLINE_FUNCTION void update_tile(std::int64_t tile, std::int64_t length,
                                               const Each& each) const {
    std::uint16_t bits[tile_width];
    draw(tile, length, bits);
    float gradients[tile_width];
    float weights[tile_width];
    float new_m[tile_width];
    float new_v[tile_width] = {};
    device_tile::read(gradient + tile, length, gradients);
    device_tile::read(weight + tile, length, weights);
    device_tile::read(m + tile, length, new_m);
    if constexpr (Formula::has_v) device_tile::read(v + tile, length, new_v);
    for_each_in_tile(length, [&](const std::int64_t i) {
      const float updated = formula(weights[i], gradients[i], new_m[i], new_v[i]);
      each(ElementHealth{gradients[i], weights[i], updated});
      weights[i] = stochastically_rounded<Weight>(updated, bits[i]);
    });
    if constexpr (Formula::updates_moments) device_tile::write(new_m, length, m + tile);
    if constexpr (Formula::updates_moments && Formula::has_v) device_tile::write(new_v, length, v + tile);
    device_tile::write(weights, length, weight + tile);
  }
  KOKKOS_FORCEINLINE_FUNCTION ElementHealth inspect(std::int64_t i) const {
    const float now = to_float(weight[i]);
    return {to_float(gradient[i]), now, now};
  }
};

template <class AnyBlock>
KOKKOS_FORCEINLINE_FUNCTION void update_all(const Row& row, const AnyBlock& block) {
  row.for_each_tile(block.count, [=](const std::int64_t tile, const std::int64_t length) {
    if constexpr (runs_on_host) {
      std::uint16_t bits[tile_width];
      block.draw(tile, length, bits);
      for_each_in_tile(length, [&](const std::int64_t i) { block.update(tile + i, bits[i]); });
    } else {
      block.update_tile(tile, length, [](const ElementHealth&) {});
    }
  });
}

template <class AnyBlock>
KOKKOS_FORCEINLINE_FUNCTION ParameterHealth update_and_sum_all(const Row& row, const AnyBlock& block,
                                                               const HealthScale& scale) {
  if constexpr (runs_on_host) {
    ParameterHealth total;
    row.for_each_tile(block.count, [&](const std::int64_t tile, const std::int64_t length) {
      std::uint16_t bits[tile_width];
      block.draw(tile, length, bits);
      total += sum_health(row, length, scale,
                          [&](const std::int64_t i) { return block.update(tile + i, bits[i]); });
    });
    return total;
  } else {
    return row.sum(launch::ceiling_quotient(block.count, tile_width), [&](const std::int64_t index) {
      const std::int64_t tile = index * tile_width;
      const std::int64_t length = launch::smaller(tile_width, block.count - tile);
      HealthLanes<1> lane;
      block.update_tile(tile, length, [&](const ElementHealth& element) { lane.add(0, element, scale); });
      return lane.sum(length);
    });
  }
}

template <class Gradient, class Weight, class Formula>
void update_weights(const Execution& exec, const PassWork& update) {
  const UpdateSpan* spans = update.spans.data();
  const std::size_t count = update.spans.size();
  const UpdateRule rule = update.rule;
  const UpdateControl* control = update.control;
  for_each_row(
      exec, "update", update.blocks, KOKKOS_LAMBDA(const std::int64_t index, const Row& row) {
        const UpdateControl now = *control;
        if (now.apply == 0) return;
        const UpdateSpan& span = span_of(spans, count, index);
        if (span.frozen) return;
        const std::int64_t first = (index - span.first_block) * UpdatePass::block_elements;
        update_all(row, WeightBlock<Gradient, Weight, Formula>(rule, span, now, first));
      });
}

template <class Gradient, class Weight, class Formula>
void update_and_sum_weights(const Execution& exec, const PassWork& update, ParameterHealth* sums) {
  const UpdateSpan* spans = update.spans.data();
  const std::size_t count = update.spans.size();
  const UpdateRule rule = update.rule;
  const UpdateControl* control = update.control;
  const float min_normal = min_normal_of<Gradient>;
  for_each_row(
      exec, "update", update.blocks, KOKKOS_LAMBDA(const std::int64_t index, const Row& row) {
        const UpdateControl now = *control;
        const bool is_seen = now.health_record >= 0;
        if (now.apply == 0 && !is_seen) return;
        const UpdateSpan& span = span_of(spans, count, index);
        const std::int64_t first = (index - span.first_block) * UpdatePass::block_elements;
        const WeightBlock<Gradient, Weight, Formula> block(rule, span, now, first);
        if (!is_seen && span.frozen) return;
        if (!is_seen) return update_all(row, block);
        const HealthScale scale{now.unscale * span.inverse_divisor, min_normal};
        const ParameterHealth sum =
            now.apply != 0 && !span.frozen
                ? update_and_sum_all(row, block, scale)
                : sum_health(row, block.count, scale, [=](const std::int64_t i) { return block.inspect(i); });
        row.once([=]() { sums[index] = sum; });
      });
}

template <class Gradient, class Weight>
void launch_update(const Execution& exec, const PassWork& update, ParameterHealth* sums) {
  dispatch_formula(update.rule.type, [&]<class Formula>(FormulaTag<Formula>) {
    if (sums == nullptr)
      update_weights<Gradient, Weight, Formula>(exec, update);
    else
      update_and_sum_weights<Gradient, Weight, Formula>(exec, update, sums);
  });
}

template <class Weight>
void launch_update(const Execution& exec, const PassWork& update, ParameterHealth* sums) {
  dispatch_same_or_float<Weight>(update.types.gradient, [&]<class Gradient>(TypeTag<Gradient>) {
    launch_update<Gradient, Weight>(exec, update, sums);
  });
}

}  // namespace

void update_rounded(const Execution& exec, const PassWork& update, ParameterHealth* sums) {
  if (update.types.weight == DType::bf16) return launch_update<bfloat16>(exec, update, sums);
  if (update.types.weight == DType::fp16) return launch_update<half>(exec, update, sums);
  fail_run(errors::internal, "weights of {} are their own masters and are not rounded",
           name_of(update.types.weight));
}

}  // namespace mylos
