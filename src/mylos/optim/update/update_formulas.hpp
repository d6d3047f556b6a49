// The formulas of optimizer.hpp for one element, with the constants of a span. They have the same bits in
// every kernel: those that update several elements per access or inspect health differ in nothing else.
#pragma once

#include "mylos/optim/update/explicit_fma.hpp"
#include "mylos/optim/update/update_pass.hpp"

namespace mylos {

/// The constants of a pass.
struct UpdateRule {
  OptimizerType type;
  float beta1, beta2, epsilon, momentum;
  bool nesterov;
  // 1 - beta1 and 1 - beta2, computed in double: in float 1 - 0.999 has a relative error of 1e-5.
  float new1, new2;
};

inline UpdateRule rule_of(const OptimizerOptions& options) {
  return {.type = options.type,
          .beta1 = static_cast<float>(options.beta1),
          .beta2 = static_cast<float>(options.beta2),
          .epsilon = static_cast<float>(options.epsilon),
          .momentum = static_cast<float>(options.momentum),
          .nesterov = options.nesterov,
          .new1 = static_cast<float>(1.0 - options.beta1),
          .new2 = static_cast<float>(1.0 - options.beta2)};
}

/// A pass over spans of the same types.
struct PassWork {
  UpdateTypes types;
  UpdateRule rule;
  std::int64_t blocks = 0;
  std::span<const UpdateSpan> spans;       // device memory
  const UpdateControl* control = nullptr;  // device memory
};

/// SGD. With Nesterov's momentum the update uses the m that would result if the next gradient were the same.
struct Sgd {
  static constexpr bool has_v = false;
  static constexpr bool updates_moments = true;
  float factor, lr, momentum, decay, ahead, kept;

  KOKKOS_INLINE_FUNCTION Sgd(const UpdateRule& rule, const UpdateSpan& span, const UpdateControl& control)
      : factor(control.gradient_factor * span.inverse_divisor),
        lr(control.lr * span.lr_factor),
        momentum(rule.momentum),
        decay(span.decay),
        ahead(rule.nesterov ? 1.0f : 0.0f),
        kept(rule.nesterov ? rule.momentum : 1.0f) {}
  KOKKOS_INLINE_FUNCTION float operator()(float weight, float gradient, float& m, float&) const {
    const float g = explicit_fma::add_two(factor, gradient, decay, weight);
    m = explicit_fma::add(momentum, m, g);
    return explicit_fma::subtract_from(weight, lr, explicit_fma::add_two(ahead, g, kept, m));
  }
};

struct Lion {
  static constexpr bool has_v = false;
  static constexpr bool updates_moments = true;
  float factor, lr, keep, beta1, beta2, new1, new2;

  KOKKOS_INLINE_FUNCTION Lion(const UpdateRule& rule, const UpdateSpan& span, const UpdateControl& control)
      : factor(control.gradient_factor * span.inverse_divisor),
        lr(control.lr * span.lr_factor),
        keep(explicit_fma::subtract_from(1.0f, control.lr * span.lr_factor, span.decay)),
        beta1(rule.beta1),
        beta2(rule.beta2),
        new1(rule.new1),
        new2(rule.new2) {}
  KOKKOS_INLINE_FUNCTION float operator()(float weight, float gradient, float& m, float&) const {
    const float g = factor * gradient;
    const float c = explicit_fma::add_two(beta1, m, new1, g);
    m = explicit_fma::add_two(beta2, m, new2, g);
    const float step = c > 0.0f ? lr : c < 0.0f ? -lr : 0.0f;
    return explicit_fma::subtract(keep, weight, step);
  }
};

/// Adam and AdamW, which differ in how they apply the decay.
struct Adam {
  static constexpr bool has_v = true;
  static constexpr bool updates_moments = true;
  float factor, coupled_decay, keep, beta1, beta2, new1, new2, epsilon, step_size, inverse_root;

  KOKKOS_INLINE_FUNCTION Adam(const UpdateRule& rule, const UpdateSpan& span, const UpdateControl& control)
      : factor(control.gradient_factor * span.inverse_divisor),
        coupled_decay(rule.type == OptimizerType::adam ? span.decay : 0.0f),
        keep(rule.type == OptimizerType::adamw
                 ? explicit_fma::subtract_from(1.0f, control.lr * span.lr_factor, span.decay)
                 : 1.0f),
        beta1(rule.beta1),
        beta2(rule.beta2),
        new1(rule.new1),
        new2(rule.new2),
        epsilon(rule.epsilon),
        step_size(control.lr * span.lr_factor / control.bias_correction1),
        inverse_root(1.0f / Kokkos::sqrt(control.bias_correction2)) {}
  KOKKOS_INLINE_FUNCTION float operator()(float weight, float gradient, float& m, float& v) const {
    const float g = explicit_fma::add_two(factor, gradient, coupled_decay, weight);
    m = explicit_fma::add_two(beta1, m, new1, g);
    v = explicit_fma::add_two(beta2, v, new2 * g, g);
    const float step = step_size * m / explicit_fma::add(Kokkos::sqrt(v), inverse_root, epsilon);
    return explicit_fma::subtract(keep, weight, step);
  }
};

/// Lamb, in two passes: between them the norms of direction() and of the weights become a trust ratio.
struct Lamb {
  static constexpr bool has_v = true;
  static constexpr bool updates_moments = false;  // the pass that measures the norms updates them
  float factor, decay, beta1, beta2, new1, new2, epsilon, inverse1, inverse_root, step_size;

  KOKKOS_INLINE_FUNCTION Lamb(const UpdateRule& rule, const UpdateSpan& span, const UpdateControl& control)
      : factor(control.gradient_factor * span.inverse_divisor),
        decay(span.decay),
        beta1(rule.beta1),
        beta2(rule.beta2),
        new1(rule.new1),
        new2(rule.new2),
        epsilon(rule.epsilon),
        inverse1(1.0f / control.bias_correction1),
        inverse_root(1.0f / Kokkos::sqrt(control.bias_correction2)),
        step_size(control.lr * span.lr_factor * *span.trust) {}
  KOKKOS_INLINE_FUNCTION void update_moments(float gradient, float& m, float& v) const {
    const float g = factor * gradient;
    m = explicit_fma::add_two(beta1, m, new1, g);
    v = explicit_fma::add_two(beta2, v, new2 * g, g);
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float direction(float weight, float m, float v) const {
    const float step = inverse1 * m / explicit_fma::add(Kokkos::sqrt(v), inverse_root, epsilon);
    return explicit_fma::add(decay, weight, step);
  }
  KOKKOS_INLINE_FUNCTION float operator()(float weight, float, float& m, float& v) const {
    return explicit_fma::subtract_from(weight, step_size, direction(weight, m, v));
  }
};

template <class T>
struct FormulaTag {
  using type = T;
};

/// Calls `function` with the FormulaTag of an optimizer's formula.
template <class Function>
void dispatch_formula(OptimizerType type, const Function& function) {
  switch (type) {
    case OptimizerType::sgd:
      return function(FormulaTag<Sgd>{});
    case OptimizerType::lion:
      return function(FormulaTag<Lion>{});
    case OptimizerType::adam:
    case OptimizerType::adamw:
      return function(FormulaTag<Adam>{});
    case OptimizerType::lamb:
      return function(FormulaTag<Lamb>{});
  }
}

/// Returns the span that contains a block of the pass.
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
