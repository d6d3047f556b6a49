// Updates of 16-bit weights without masters: correct on average where rounding to nearest would stall,
// independent of the sharding, and equal to the formulas with masters except for the rounding.
#include <gtest/gtest.h>

#include <random>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/base/numbers/stochastic_rounding.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/optim/update/optimizer.hpp"
#include "optim/updates.hpp"
#include "support/device_values.hpp"

namespace mylos::rounded_update_test {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t seed = 9;

Chain chain_of(DType compute, MasterWeights masters, GradientType gradient = GradientType::compute) {
  ModelOptions model;
  model.hidden = {70};
  model.inputs = 90;
  model.outputs = 10;
  model.norm = NormType::layernorm;
  PrecisionOptions precision;
  precision.compute = compute;
  precision.masters = masters;
  precision.gradient = gradient;
  precision.rules = {{"norm1", DType::fp32}};
  return make_mlp(model, precision, 1, false);
}

struct Case {
  OptimizerType type;
  DType compute;
  GradientType gradient = GradientType::compute;
};
void PrintTo(const Case& test, std::ostream* out) {
  *out << static_cast<int>(test.type) << " " << name_of(test.compute)
       << (test.gradient == GradientType::fp32 ? ", gradients fp32" : "");
}

OptimizerOptions options_of(OptimizerType type) {
  OptimizerOptions options;
  options.type = type;
  options.lr = 0.02;
  options.weight_decay = 0.05;
  options.momentum = 0.8;
  return options;
}

/// One rank's weights: all of them, or its slices.
struct Subject {
  Subject(const Case& test, MasterWeights masters, int ranks = 1, int rank = 0,
          std::int64_t health_records = 0)
      : store(make_parameter_layout(chain_of(test.compute, masters, test.gradient), 1500, 3, ranks), rank),
        divisors(store.layout().buckets.size(), 1.0f),
        optimizer(options_of(test.type), store, divisors, ranks > 1, health_records, seed) {
    store.initialize(exec, 5);
    exec.fence();
  }
  void draw_gradients(int time) {
    for (const ParameterSlot& slot : store.layout().slots) {
      std::mt19937 random(static_cast<unsigned>(time) + static_cast<unsigned>(hash_bytes(slot.path())));
      std::normal_distribution<float> normal(0, 1);
      std::vector<float> values(static_cast<std::size_t>(slot.size()));
      for (float& value : values) value = normal(random);
      test::set_values(store.gradient(slot), values);
    }
  }
  void update(int time, std::int32_t apply = 1, std::int32_t health_record = -1) {
    prepare(time, apply, health_record);
    optimizer.update(exec, control.data());
    exec.fence();
  }
  void prepare(int time, std::int32_t apply = 1, std::int32_t health_record = -1) {
    draw_gradients(time);
    UpdateControl now;
    now.apply = apply;
    now.health_record = health_record;
    now.gradient_factor = now.unscale = 0.5f;
    now.lr = 0.02f;
    now.bias_correction1 = static_cast<float>(1 - std::pow(0.9, time));
    now.bias_correction2 = static_cast<float>(1 - std::pow(0.999, time));
    now.updates = static_cast<std::uint64_t>(time - 1);
    control.set(now);
  }
  void update_buckets() {
    for (std::size_t bucket = 0; bucket < divisors.size(); ++bucket)
      optimizer.update(exec, control.data(), bucket);
    exec.fence();
  }
  [[nodiscard]] Bytes everything() const {
    Bytes all;
    const auto add = [&all](const Tensor& tensor) {
      const Bytes bytes = test::bytes_of(tensor);
      all.insert(all.end(), bytes.begin(), bytes.end());
    };
    for (std::size_t i = 0; i < store.layout().slots.size(); ++i) {
      add(store.held_master(i).values);
      for (std::size_t m = 0; m < optimizer.moment_names().size(); ++m) add(optimizer.moment(m, i).values);
    }
    return all;
  }

  Execution exec;
  ParameterStore store;
  std::vector<float> divisors;
  Optimizer optimizer;
  test::DeviceValue<UpdateControl> control;
};

class RoundedUpdate : public testing::TestWithParam<Case> {};

TEST_P(RoundedUpdate, IsThatOfMastersRoundedByTheBitsOfEachElement) {
  Subject with(GetParam(), MasterWeights::fp32);
  Subject without(GetParam(), MasterWeights::none);
  const std::vector<ParameterSlot>& slots = with.store.layout().slots;
  for (std::size_t i = 0; i < slots.size(); ++i) {  // the same initial numbers
    const std::vector<float> weights = test::values_of(without.store.master(without.store.layout().slots[i]));
    test::set_values(with.store.master(slots[i]), weights);
  }
  with.update(1);
  without.update(1);
  std::size_t others = 0, count = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::vector<float> masters = test::values_of(with.store.master(slots[i]));
    const Tensor weight = without.store.master(without.store.layout().slots[i]);
    const std::vector<float> weights = test::values_of(weight);
    const RandomStream stream(seed, RandomPurpose::weight_rounding, slots[i].path());
    for (std::uint32_t e = 0; e < weights.size(); ++e) {
      const std::uint32_t word = stream.block(0, 0, e / 8).word[e % 4] >> (e % 8 < 4 ? 0 : 16);
      const float expected = dispatch(weight.type(), [&]<class T>(TypeTag<T>) {
        if constexpr (std::is_same_v<T, float>) return masters[e];
        if constexpr (!std::is_same_v<T, float>) return stochastically_rounded<T>(masters[e], word);
      });
      others += weights[e] == expected ? 0 : 1;
      const float unit = weight.type() == DType::bf16   ? 0x1p-7f
                         : weight.type() == DType::fp16 ? 0x1p-10f
                                                        : 0x1p-23f;
      EXPECT_NEAR(weights[e], expected, 2 * unit * std::fabs(expected) + 1e-7f)
          << slots[i].path() << " " << e;
    }
    count += weights.size();
    const std::vector<float> moments = test::values_of(without.optimizer.moment(0, i).values);
    const std::vector<float> expected = test::values_of(with.optimizer.moment(0, i).values);
    for (std::size_t e = 0; e < moments.size(); ++e) EXPECT_NEAR(moments[e], expected[e], 1e-6f);
  }
  // Two kernels of the same formula may contract products differently. Masters then differ in the last bit,
  // and one weight in thousands is rounded differently.
  EXPECT_LE(others, count / 1000);
}

TEST_P(RoundedUpdate, LeavesEveryBitWhereTheStepIsSkipped) {
  Subject subject(GetParam(), MasterWeights::none, 1, 0, 4);
  subject.update(1);
  const Bytes before = subject.everything();
  subject.update(2, 0);
  subject.update(2, 0, 1);
  EXPECT_EQ(subject.everything(), before);
  subject.update(2);
  EXPECT_NE(subject.everything(), before);
}

TEST_P(RoundedUpdate, IsTheSameAgainAndWhereHealthIsLookedAt) {
  Subject plain(GetParam(), MasterWeights::none);
  Subject watched(GetParam(), MasterWeights::none, 1, 0, 4);
  for (int time = 1; time <= 4; ++time) {
    plain.update(time);
    watched.update(time, 1, time % 2 == 0 ? time % 4 : -1);
  }
  EXPECT_EQ(watched.everything(), plain.everything());
}

TEST_P(RoundedUpdate, HealthTellsOfTheUpdateBeforeItIsRounded) {
  Subject with(GetParam(), MasterWeights::fp32, 1, 0, 2);
  Subject without(GetParam(), MasterWeights::none, 1, 0, 2);
  with.update(1, 1, 0);
  without.update(1, 1, 0);
  const std::vector<ParameterHealth> expected = with.optimizer.health().read(with.exec, 0);
  const std::vector<ParameterHealth> found = without.optimizer.health().read(without.exec, 0);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].gradient_squares, expected[i].gradient_squares, 1e-5 * expected[i].gradient_squares);
    EXPECT_NEAR(found[i].weight_squares, expected[i].weight_squares,
                1e-2 * expected[i].weight_squares + 1e-6);
    EXPECT_NEAR(found[i].change_squares, expected[i].change_squares, 1e-2 * expected[i].change_squares);
    EXPECT_EQ(found[i].largest_gradient, expected[i].largest_gradient);
    EXPECT_EQ(found[i].count, expected[i].count);
    EXPECT_EQ(found[i].zeros, expected[i].zeros);
    EXPECT_EQ(found[i].non_finite, 0);
  }
}

TEST_P(RoundedUpdate, BySlicesOfThreeRanksGivesTheBitsOfOne) {
  Subject whole(GetParam(), MasterWeights::none);
  std::vector<std::unique_ptr<Subject>> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.push_back(std::make_unique<Subject>(GetParam(), MasterWeights::none, 3, rank));
  for (int time = 1; time <= 3; ++time) {
    whole.update(time);
    for (const auto& rank : ranks) rank->prepare(time);
    test::exchange_norms(whole.exec, {&ranks[0]->optimizer, &ranks[1]->optimizer, &ranks[2]->optimizer},
                         ranks[0]->control.data());
    for (const auto& rank : ranks) rank->update_buckets();
  }
  const std::vector<ParameterSlot>& slots = whole.store.layout().slots;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Bytes all;
    for (const auto& rank : ranks) {
      const HeldPart part = rank->store.held_master(i);
      if (part.values.empty()) continue;
      EXPECT_EQ(static_cast<std::size_t>(part.first) * size_of(part.values.type()), all.size());
      const Bytes own = test::bytes_of(part.values);
      all.insert(all.end(), own.begin(), own.end());
    }
    EXPECT_EQ(all, test::bytes_of(whole.store.master(slots[i]))) << slots[i].path();
  }
}

INSTANTIATE_TEST_SUITE_P(EveryRuleAndType, RoundedUpdate,
                         testing::Values(Case{OptimizerType::sgd, DType::bf16},
                                         Case{OptimizerType::sgd, DType::fp16, GradientType::fp32},
                                         Case{OptimizerType::lion, DType::bf16},
                                         Case{OptimizerType::lamb, DType::bf16},
                                         Case{OptimizerType::lamb, DType::fp16, GradientType::fp32},
                                         Case{OptimizerType::adam, DType::fp16},
                                         Case{OptimizerType::adamw, DType::bf16},
                                         Case{OptimizerType::adamw, DType::bf16, GradientType::fp32},
                                         Case{OptimizerType::adamw, DType::fp16}));

/// Returns the weights of one parameter, initially 1, after a number of updates by `change`.
std::vector<float> walked(DType compute, float change, int updates) {
  ParameterStore store(make_parameter_layout(chain_of(compute, MasterWeights::none), 1 << 20, 1));
  OptimizerOptions options;
  options.type = OptimizerType::sgd;
  options.momentum = 0;
  options.weight_decay = 0;
  const std::vector<float> divisors(store.layout().buckets.size(), 1.0f);
  const Optimizer optimizer(options, store, divisors, false, 0, seed);
  const Execution exec;
  const ParameterSlot& slot = store.layout().slots[store.layout().slots_of_block[0][0]];
  const std::vector<float> ones(static_cast<std::size_t>(slot.size()), 1.0f);
  test::set_values(store.master(slot), ones);
  test::set_values(store.gradient(slot), std::vector<float>(ones.size(), -1.0f));
  test::DeviceValue<UpdateControl> control;
  for (int i = 0; i < updates; ++i) {
    UpdateControl now;
    now.apply = 1;
    now.gradient_factor = 1;
    now.lr = change;
    now.updates = static_cast<std::uint64_t>(i);
    control.set(now);
    optimizer.update(exec, control.data());
    exec.fence();
  }
  return test::values_of(store.master(slot));
}

double mean_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

TEST(RoundedUpdates, ArriveWhereRoundingToNearestStandsStill) {
  const std::vector<float> weights = walked(DType::bf16, 0.001f, 1000);
  EXPECT_NEAR(mean_of(weights), 2.0, 0.02);
  // Closed form: a step is 2^-7 below 2, each update moves by one with probability 0.001 / 2^-7, so the
  // variance of 1000 updates is 1000 · 0.001 · (2^-7 - 0.001), and that of the mean of 6300 weights a 6300th
  // of it.
  EXPECT_NEAR(mean_of(weights), 2.0, 5 * std::sqrt((0x1p-7 - 0.001) / 6300));
  float nearest = 1;
  for (int i = 0; i < 1000; ++i) nearest = test::rounded_to(DType::bf16, nearest + 0.001f);
  EXPECT_EQ(nearest, 1.0f);
}

TEST(RoundedUpdates, OfHalfArriveToo) {
  EXPECT_NEAR(mean_of(walked(DType::fp16, 0.0002f, 1000)), 1.2,
              5 * std::sqrt(0.2 * (0x1p-10 - 0.0002) / 6300));
  float nearest = 1;
  for (int i = 0; i < 1000; ++i) nearest = test::rounded_to(DType::fp16, nearest + 0.0002f);
  EXPECT_EQ(nearest, 1.0f);
}

TEST(RoundedUpdates, AreSpreadAsTheirProbabilitiesSay) {
  const std::vector<float> weights = walked(DType::bf16, 0.001f, 500);
  double variance = 0;
  for (const float weight : weights) variance += std::pow(static_cast<double>(weight) - 1.5, 2);
  variance /= static_cast<double>(weights.size());
  EXPECT_NEAR(variance, 500 * 0.001 * (0x1p-7 - 0.001), 0.1 * 500 * 0.001 * 0x1p-7);
}

}  // namespace mylos::rounded_update_test
