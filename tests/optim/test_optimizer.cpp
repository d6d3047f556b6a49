// The fused update against the formulas in double.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>

#include "optim/updates.hpp"
#include "support/device_values.hpp"

namespace mylos::optimizer_test {

using Bytes = std::vector<std::byte>;

using test::chain_of;
using test::control_of;

/// The formulas of optimizer.hpp for one weight, in double.
struct Reference {
  double w = 0, m = 0, v = 0;
  double u = 0;  // lamb: the direction, before the norms are known
  void update(const OptimizerOptions& o, double g, double lr, int time, double decay_factor) {
    const double decay = decay_factor * o.weight_decay;
    if (o.type == OptimizerType::sgd) {
      g += decay * w;
      m = o.momentum * m + g;
      w -= lr * (o.nesterov ? g + o.momentum * m : m);
      return;
    }
    if (o.type == OptimizerType::lion) {
      const double c = o.beta1 * m + (1 - o.beta1) * g;
      w = (1 - lr * decay) * w - lr * ((c > 0) - (c < 0));
      m = o.beta2 * m + (1 - o.beta2) * g;
      return;
    }
    if (o.type == OptimizerType::adam) g += decay * w;
    if (o.type == OptimizerType::adamw) w *= 1 - lr * decay;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    u = (m / (1 - std::pow(o.beta1, time))) / (std::sqrt(v / (1 - std::pow(o.beta2, time))) + o.epsilon);
    if (o.type == OptimizerType::lamb) {
      u += decay * w;
    } else {
      w -= lr * u;
    }
  }
};

/// The second pass of lamb's update of one parameter.
void move_by_norms(std::vector<Reference>& parameter, double lr) {
  double weights = 0, directions = 0;
  for (const Reference& element : parameter) {
    weights += element.w * element.w;
    directions += element.u * element.u;
  }
  const double ratio = weights > 0 && directions > 0 ? std::sqrt(weights / directions) : 1;
  for (Reference& element : parameter) element.w -= lr * ratio * element.u;
}

struct Case {
  OptimizerType type;
  DType compute;
  GradientType gradient;
  bool nesterov = false;
};
void PrintTo(const Case& test, std::ostream* out) {
  *out << (test.type == OptimizerType::sgd    ? "sgd"
           : test.type == OptimizerType::adam ? "adam"
           : test.type == OptimizerType::lion ? "lion"
           : test.type == OptimizerType::lamb ? "lamb"
                                              : "adamw")
       << " " << name_of(test.compute) << (test.gradient == GradientType::fp32 ? ", gradients fp32" : "")
       << (test.nesterov ? ", nesterov" : "");
}

/// Some layers in two buckets with different remaining divisors.
class FusedUpdate : public testing::TestWithParam<Case> {
 protected:
  FusedUpdate() {
    store.initialize(exec, 5);
    exec.fence();
    EXPECT_EQ(store.layout().buckets.size(), 2u);
    for (const ParameterSlot& slot : store.layout().slots) {
      auto& reference = references[slot.path()];
      for (const float value : test::values_of(store.master(slot))) reference.push_back({.w = value});
    }
  }
  /// hidden1 has half the learning rate of the others, and a quarter of the decay.
  static ParameterLayout layout_of(const Case& test, int shard_owners = 1) {
    const Chain chain = chain_of({70}, 90, 10, test.compute, test.gradient);
    ParameterLayout layout = make_parameter_layout(chain, 1500, 3, shard_owners);
    for (ParameterSlot& slot : layout.slots) {
      if (slot.layer != "hidden1") continue;
      slot.spec.lr_factor = 0.5f;
      slot.spec.decay_factor = 0.25f;
    }
    return layout;
  }
  static OptimizerOptions options_of(const Case& test) {
    OptimizerOptions options;
    options.type = test.type;
    options.nesterov = test.nesterov;
    options.lr = 0.02;
    options.weight_decay = 0.05;
    options.momentum = 0.8;
    options.beta1 = 0.85;
    options.beta2 = 0.999;
    return options;
  }
  void draw_gradients() {
    std::normal_distribution<float> normal(0, 30);
    for (const ParameterSlot& slot : store.layout().slots) {
      std::vector<float> values(static_cast<std::size_t>(slot.size()));
      for (float& value : values) value = normal(random);
      test::set_values(store.gradient(slot), values);
    }
  }
  [[nodiscard]] Bytes everything() const {
    Bytes all;
    const auto add = [&](const Tensor& tensor) {
      const Bytes bytes = test::bytes_of(tensor);
      all.insert(all.end(), bytes.begin(), bytes.end());
    };
    for (const ParameterSlot& slot : store.layout().slots) {
      add(store.master(slot));
      add(store.compute_weight(slot));
      add(store.gradient(slot));
      for (std::size_t i = 0; i < optimizer.moment_names().size(); ++i) add(moment(i, slot));
    }
    return all;
  }
  static const ParameterSlot& slot_like(const ParameterSlot& slot, const ParameterLayout& layout) {
    return *std::find_if(layout.slots.begin(), layout.slots.end(),
                         [&](const ParameterSlot& other) { return other.path() == slot.path(); });
  }
  [[nodiscard]] Tensor moment(std::size_t index, const ParameterSlot& slot) const {
    return optimizer.moment(index, static_cast<std::size_t>(&slot - store.layout().slots.data())).values;
  }
  void update(int time, std::int32_t apply = 1) {
    UpdateControl now = control_of(options, time, gradient_factor);
    now.apply = apply;
    control.set(now);
    optimizer.update(exec, control.data());
    exec.fence();
  }

  static constexpr float gradient_factor = 0.3f / 1024;  // clipping by 0.3 at a loss scale of 1024
  Execution exec;
  std::mt19937 random{3};
  OptimizerOptions options = options_of(GetParam());
  ParameterStore store{layout_of(GetParam())};
  const std::vector<float> divisors{1.0f, 2.56f};
  Optimizer optimizer{options, store, divisors};
  test::DeviceValue<UpdateControl> control;
  std::map<std::string, std::vector<Reference>> references;
};

TEST_P(FusedUpdate, FollowsTheFormulasInDouble) {
  for (int time = 1; time <= 6; ++time) {
    draw_gradients();
    for (const ParameterSlot& slot : store.layout().slots) {
      const bool slower = slot.layer == "hidden1";
      const double decay_factor = slower ? 0.25 : slot.path() == "head/weight" ? 1 : 0;
      const double factor = static_cast<double>(gradient_factor) / static_cast<double>(divisors[slot.bucket]);
      const std::vector<float> gradient = test::values_of(store.gradient(slot));
      auto& reference = references[slot.path()];
      for (std::size_t i = 0; i < reference.size(); ++i) {
        reference[i].update(options, factor * static_cast<double>(gradient[i]),
                            (slower ? 0.5 : 1) * options.lr, time, decay_factor);
      }
      if (options.type == OptimizerType::lamb) move_by_norms(reference, (slower ? 0.5 : 1) * options.lr);
    }
    update(time);
  }
  for (const ParameterSlot& slot : store.layout().slots) {
    const auto& reference = references[slot.path()];
    const std::vector<float> masters = test::values_of(store.master(slot));
    const std::vector<float> weights = test::values_of(store.compute_weight(slot));
    const std::vector<float> first = test::values_of(moment(0, slot));
    for (std::size_t i = 0; i < reference.size(); ++i) {
      // Six updates of at most about lr each, in float; adam divides by small square roots.
      EXPECT_NEAR(masters[i], reference[i].w, 2e-6) << slot.path() << " " << i;
      EXPECT_NEAR(first[i], reference[i].m, 1e-6 * std::abs(reference[i].m) + 1e-7)
          << slot.path() << " " << i;
      EXPECT_EQ(weights[i], test::rounded_to(GetParam().compute, masters[i]));
    }
    if (optimizer.moment_names().size() == 1) continue;
    const std::vector<float> second = test::values_of(moment(1, slot));
    for (std::size_t i = 0; i < reference.size(); ++i) {
      EXPECT_NEAR(second[i], reference[i].v, 1e-6 * reference[i].v + 1e-11) << slot.path() << " " << i;
    }
  }
}

TEST_P(FusedUpdate, ASkippedStepTouchesNothingBitForBit) {
  draw_gradients();
  update(1);
  const ParameterSlot& first = store.layout().slots[0];
  std::vector<float> gradient = test::values_of(store.gradient(first));
  gradient[0] = std::numeric_limits<float>::infinity();
  gradient[1] = std::numeric_limits<float>::quiet_NaN();
  test::set_values(store.gradient(first), gradient);
  const Bytes before = everything();
  update(2, 0);
  EXPECT_EQ(everything(), before);
  draw_gradients();
  update(2, 1);
  EXPECT_NE(everything(), before);
}

TEST_P(FusedUpdate, BySlicesOfThreeRanksGivesTheBitsOfOne) {
  std::vector<std::unique_ptr<ParameterStore>> stores;
  std::vector<Optimizer> of_ranks;
  for (int rank = 0; rank < 3; ++rank) {
    stores.push_back(std::make_unique<ParameterStore>(layout_of(GetParam(), 3), rank));
    stores.back()->initialize(exec, 5);
    of_ranks.emplace_back(options, *stores.back(), divisors, true);
    EXPECT_EQ(of_ranks.back().bytes() * 3, optimizer.bytes());
    EXPECT_EQ(of_ranks.back().bytes(), Optimizer::memory_bytes(options, stores.back()->layout()));
  }
  for (int time = 1; time <= 3; ++time) {
    draw_gradients();
    update(time);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      for (const ParameterSlot& slot : stores[rank]->layout().slots) {
        test::set_values(stores[rank]->gradient(slot),
                         test::values_of(store.gradient(slot_like(slot, store.layout()))));
      }
    }
    test::exchange_norms(exec, {&of_ranks[0], &of_ranks[1], &of_ranks[2]}, control.data());
    for (std::size_t rank = 0; rank < 3; ++rank) {
      for (std::size_t bucket = 0; bucket < divisors.size(); ++bucket) {
        of_ranks[rank].update(exec, control.data(), bucket);
      }
    }
    exec.fence();
  }
  for (std::size_t i = 0; i < store.layout().slots.size(); ++i) {
    const ParameterSlot& slot = store.layout().slots[i];
    const auto joined = [&](const auto& part_of) {
      Bytes all;
      for (std::size_t rank = 0; rank < 3; ++rank) {
        const HeldPart part = part_of(rank);
        if (part.values.empty()) continue;
        EXPECT_EQ(static_cast<std::size_t>(part.first) * sizeof(float), all.size()) << slot.path();
        const Bytes bytes = test::bytes_of(part.values);
        all.insert(all.end(), bytes.begin(), bytes.end());
      }
      return all;
    };
    EXPECT_EQ(joined([&](std::size_t rank) { return stores[rank]->held_master(i); }),
              test::bytes_of(store.master(slot)))
        << slot.path();
    for (std::size_t m = 0; m < optimizer.moment_names().size(); ++m) {
      EXPECT_EQ(joined([&](std::size_t rank) { return of_ranks[rank].moment(m, i); }),
                test::bytes_of(moment(m, slot)))
          << slot.path();
    }
  }
}

TEST_P(FusedUpdate, PaddingStaysZero) {
  draw_gradients();
  update(1);
  const auto elements = store.layout().elements;
  for (std::size_t i = 0; i < optimizer.moment_names().size(); ++i) {
    auto flat = test::values_of(Tensor(moment(i, store.layout().slots[0]).data(), DType::fp32, 1, elements));
    for (const ParameterSlot& slot : store.layout().slots) {
      std::fill_n(flat.begin() + slot.offset, slot.size(), 0.0f);
    }
    EXPECT_EQ(flat, std::vector<float>(static_cast<std::size_t>(elements), 0.0f));
  }
}

TEST_P(FusedUpdate, KeepsAsManyMomentsAsItNames) {
  const bool sgd = options.type == OptimizerType::sgd || options.type == OptimizerType::lion;
  EXPECT_EQ(optimizer.moment_names(),
            sgd ? std::vector<std::string_view>{"m"} : (std::vector<std::string_view>{"m", "v"}));
  EXPECT_EQ(optimizer.bytes(), static_cast<std::size_t>(store.layout().elements) * (sgd ? 4 : 8));
}

INSTANTIATE_TEST_SUITE_P(EveryRuleAndType, FusedUpdate,
                         testing::Values(Case{OptimizerType::sgd, DType::fp32, GradientType::compute},
                                         Case{OptimizerType::sgd, DType::bf16, GradientType::compute},
                                         Case{OptimizerType::sgd, DType::fp16, GradientType::fp32},
                                         Case{OptimizerType::sgd, DType::fp32, GradientType::compute, true},
                                         Case{OptimizerType::sgd, DType::fp16, GradientType::compute, true},
                                         Case{OptimizerType::lion, DType::fp32, GradientType::compute},
                                         Case{OptimizerType::lion, DType::bf16, GradientType::compute},
                                         Case{OptimizerType::lion, DType::fp16, GradientType::fp32},
                                         Case{OptimizerType::lamb, DType::fp32, GradientType::compute},
                                         Case{OptimizerType::lamb, DType::bf16, GradientType::compute},
                                         Case{OptimizerType::lamb, DType::fp16, GradientType::fp32},
                                         Case{OptimizerType::adam, DType::fp32, GradientType::compute},
                                         Case{OptimizerType::adam, DType::fp16, GradientType::compute},
                                         Case{OptimizerType::adam, DType::bf16, GradientType::fp32},
                                         Case{OptimizerType::adamw, DType::fp32, GradientType::compute},
                                         Case{OptimizerType::adamw, DType::bf16, GradientType::compute},
                                         Case{OptimizerType::adamw, DType::fp16, GradientType::compute},
                                         Case{OptimizerType::adamw, DType::fp16, GradientType::fp32}));

/// One layer without decay of its bias, with given gradients and weights.
struct LambOfOneLayer {
  LambOfOneLayer() {
    options.type = OptimizerType::lamb;
    options.weight_decay = 0;
    optimizer.emplace(options, store, std::array{1.0f});
  }
  std::vector<float> updated(float weight, float gradient) {
    const ParameterSlot& slot = store.layout().slots[0];
    const auto count = static_cast<std::size_t>(slot.size());
    test::set_values(store.master(slot), std::vector<float>(count, weight));
    test::set_values(store.gradient(slot), std::vector<float>(count, gradient));
    const test::DeviceValue<UpdateControl> control(control_of(options, 1, 1));
    optimizer->update(exec, control.data());
    exec.fence();
    return test::values_of(store.master(slot));
  }
  Execution exec;
  OptimizerOptions options;
  ParameterStore store{make_parameter_layout(chain_of({}, 90, 70, DType::fp32), 1 << 20, 1)};
  std::optional<Optimizer> optimizer;
};

TEST(Lamb, MovesByItsDirectionWhereTheWeightsAreZero) {
  const float step = static_cast<float>(OptimizerOptions{}.lr);
  for (const float weight : LambOfOneLayer().updated(0, -3)) EXPECT_NEAR(weight, step, 1e-6f * step);
}

TEST(Lamb, StaysWhereThereIsNoDirection) {
  for (const float weight : LambOfOneLayer().updated(0.5f, 0)) EXPECT_EQ(weight, 0.5f);
}

TEST(Lamb, MovesByItsRateTimesTheWeightsNormWhateverTheGradient) {
  for (const float gradient : {1e-15f, 1e-4f, 1e15f}) {
    for (const float weight : LambOfOneLayer().updated(0.5f, gradient))
      EXPECT_NEAR(weight, 0.5f * (1 - static_cast<float>(OptimizerOptions{}.lr)), 1e-6f) << gradient;
  }
}

TEST(Lamb, HidesNoWeightThatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float weight : LambOfOneLayer().updated(infinity, 1)) EXPECT_TRUE(std::isnan(weight));
}

}  // namespace mylos::optimizer_test
