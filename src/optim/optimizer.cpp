#include "mylos/optim/optimizer.hpp"

#include "mylos/base/region.hpp"
#include "mylos/kernels/launch.hpp"

namespace mylos {
namespace {

/// The constants of one parameter's update.
struct UpdateRule {
  OptimizerType type;
  float beta1, beta2, epsilon, momentum;
  float new1, new2;  // 1 - beta1 and 1 - beta2: in float, 1 - 0.999 would be off by 1e-5 of itself
  float decay;       // 0 for vectors
  float inverse_divisor;
};

struct Sgd {
  float factor, lr, momentum, decay;

  KOKKOS_INLINE_FUNCTION Sgd(const UpdateRule& rule, const UpdateControl& control)
      : factor(control.gradient_factor * rule.inverse_divisor),
        lr(control.lr),
        momentum(rule.momentum),
        decay(rule.decay) {}
  KOKKOS_INLINE_FUNCTION float operator()(float weight, float gradient, float& m, float&) const {
    m = momentum * m + (factor * gradient + decay * weight);
    return weight - lr * m;
  }
};

/// Adam and AdamW differ in where the decay goes.
struct Adam {
  float factor, coupled_decay, keep, beta1, beta2, new1, new2, epsilon, step_size, inverse_root;

  KOKKOS_INLINE_FUNCTION Adam(const UpdateRule& rule, const UpdateControl& control)
      : factor(control.gradient_factor * rule.inverse_divisor),
        coupled_decay(rule.type == OptimizerType::adam ? rule.decay : 0.0f),
        keep(rule.type == OptimizerType::adamw ? 1.0f - control.lr * rule.decay : 1.0f),
        beta1(rule.beta1),
        beta2(rule.beta2),
        new1(rule.new1),
        new2(rule.new2),
        epsilon(rule.epsilon),
        step_size(control.lr / control.bias_correction1),
        inverse_root(1.0f / Kokkos::sqrt(control.bias_correction2)) {}
  KOKKOS_INLINE_FUNCTION float operator()(float weight, float gradient, float& m, float& v) const {
    const float g = factor * gradient + coupled_decay * weight;
    m = beta1 * m + new1 * g;
    v = beta2 * v + new2 * g * g;
    return keep * weight - step_size * m / (Kokkos::sqrt(v) * inverse_root + epsilon);
  }
};

/// Pointers to one parameter in each arena. `weight` is null where the masters are the compute weights; `v`
/// is `m` for sgd, which does not use it.
template <class Gradient, class Weight>
struct UpdateSpan {
  const Gradient* gradient;
  float* master;
  float* m;
  float* v;
  Weight* weight;
};

template <class Formula, class Gradient, class Weight>
void update_span(const Execution& exec, std::int64_t count, const UpdateSpan<Gradient, Weight>& span,
                 const UpdateRule& rule, const UpdateControl* control) {
  constexpr bool has_v = !std::is_same_v<Formula, Sgd>;
  constexpr std::int64_t block = runs_on_host ? 4096 : 1;  // a device thread takes one element
  for_each_block(
      exec, "update", count, block, KOKKOS_LAMBDA(const std::int64_t begin, const std::int64_t end) {
        const UpdateControl now = *control;
        if (now.apply == 0) return;
        const Formula formula(rule, now);
        const auto [gradient, master, m, v, weight] = span;
        simd_for(begin, end, [=](const std::int64_t i) {
          float first = m[i];
          float second = has_v ? v[i] : 0.0f;
          const float updated = formula(master[i], to_float(gradient[i]), first, second);
          master[i] = updated;
          m[i] = first;
          if constexpr (has_v) v[i] = second;
          if constexpr (!std::is_same_v<Weight, float>) weight[i] = from_float<Weight>(updated);
        });
      });
}

std::vector<std::string_view> names_for(OptimizerType type) {
  if (type == OptimizerType::sgd) return {"m"};
  return {"m", "v"};
}

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options, const ParameterLayout& layout)
    : options_(options), names_(names_for(options.type)) {
  for (const std::string_view name : names_) {
    moments_.emplace_back("moment " + std::string(name), layout.master_bytes());
  }
}

std::size_t Optimizer::memory_bytes(const OptimizerOptions& options, const ParameterLayout& layout) {
  return names_for(options.type).size() * layout.master_bytes();
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

void Optimizer::update(const Execution& exec, ParameterStore& parameters,
                       const std::vector<float>& gradient_divisor, const UpdateControl* control) const {
  const Region region("update");
  for (const ParameterSlot& slot : parameters.layout().slots) {
    const UpdateRule rule{.type = options_.type,
                          .beta1 = static_cast<float>(options_.beta1),
                          .beta2 = static_cast<float>(options_.beta2),
                          .epsilon = static_cast<float>(options_.epsilon),
                          .momentum = static_cast<float>(options_.momentum),
                          .new1 = static_cast<float>(1.0 - options_.beta1),
                          .new2 = static_cast<float>(1.0 - options_.beta2),
                          .decay = slot.spec.is_matrix ? static_cast<float>(options_.weight_decay) : 0.0f,
                          .inverse_divisor = 1.0f / gradient_divisor[slot.bucket]};
    const Tensor gradient = parameters.gradient(slot);
    const Tensor weight = parameters.compute_weight(slot);
    dispatch(gradient.type(), [&]<class G>(TypeTag<G>) {
      dispatch(weight.type(), [&]<class W>(TypeTag<W>) {
        const UpdateSpan<G, W> span{gradient.as<G>(), parameters.master(slot).as<float>(),
                                    moment(0, slot).as<float>(), moment(names_.size() - 1, slot).as<float>(),
                                    weight.as<W>()};
        if (options_.type == OptimizerType::sgd) {
          update_span<Sgd>(exec, slot.size(), span, rule, control);
        } else {
          update_span<Adam>(exec, slot.size(), span, rule, control);
        }
      });
    });
  }
}

}  // namespace mylos
