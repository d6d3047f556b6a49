// The formulas of optimizer.hpp for one element, and what of them is the same for all elements of a span.
#pragma once

#include "mylos/optim/update_pass.hpp"

namespace mylos {

/// The constants of a pass.
struct UpdateRule {
  OptimizerType type;
  float beta1, beta2, epsilon, momentum;
  float new1, new2;  // 1 - beta1 and 1 - beta2: in float, 1 - 0.999 would be off by 1e-5 of itself
};

inline UpdateRule rule_of(const OptimizerOptions& options) {
  return {.type = options.type,
          .beta1 = static_cast<float>(options.beta1),
          .beta2 = static_cast<float>(options.beta2),
          .epsilon = static_cast<float>(options.epsilon),
          .momentum = static_cast<float>(options.momentum),
          .new1 = static_cast<float>(1.0 - options.beta1),
          .new2 = static_cast<float>(1.0 - options.beta2)};
}

struct Sgd {
  static constexpr bool has_v = false;
  float factor, lr, momentum, decay;

  KOKKOS_INLINE_FUNCTION Sgd(const UpdateRule& rule, const UpdateSpan& span, const UpdateControl& control)
      : factor(control.gradient_factor * span.inverse_divisor),
        lr(control.lr * span.lr_factor),
        momentum(rule.momentum),
        decay(span.decay) {}
  KOKKOS_INLINE_FUNCTION float operator()(float weight, float gradient, float& m, float&) const {
    m = momentum * m + (factor * gradient + decay * weight);
    return weight - lr * m;
  }
};

/// Adam and AdamW differ in where the decay goes.
struct Adam {
  static constexpr bool has_v = true;
  float factor, coupled_decay, keep, beta1, beta2, new1, new2, epsilon, step_size, inverse_root;

  KOKKOS_INLINE_FUNCTION Adam(const UpdateRule& rule, const UpdateSpan& span, const UpdateControl& control)
      : factor(control.gradient_factor * span.inverse_divisor),
        coupled_decay(rule.type == OptimizerType::adam ? span.decay : 0.0f),
        keep(rule.type == OptimizerType::adamw ? 1.0f - control.lr * span.lr_factor * span.decay : 1.0f),
        beta1(rule.beta1),
        beta2(rule.beta2),
        new1(rule.new1),
        new2(rule.new2),
        epsilon(rule.epsilon),
        step_size(control.lr * span.lr_factor / control.bias_correction1),
        inverse_root(1.0f / Kokkos::sqrt(control.bias_correction2)) {}
  KOKKOS_INLINE_FUNCTION float operator()(float weight, float gradient, float& m, float& v) const {
    const float g = factor * gradient + coupled_decay * weight;
    m = beta1 * m + new1 * g;
    v = beta2 * v + new2 * g * g;
    return keep * weight - step_size * m / (Kokkos::sqrt(v) * inverse_root + epsilon);
  }
};

/// The span that a block of the pass lies in.
KOKKOS_INLINE_FUNCTION const UpdateSpan& span_of(const UpdateSpan* spans, std::size_t count,
                                                 std::int64_t block) {
  std::size_t begin = 0;
  std::size_t end = count;
  while (end - begin > 1) {
    const std::size_t middle = begin + (end - begin) / 2;
    (spans[middle].first_block <= block ? begin : end) = middle;
  }
  return spans[begin];
}

}  // namespace mylos
