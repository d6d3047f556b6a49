// The gather of missing slices and the update of owned slices, against an update of everything.
#include <gtest/gtest.h>

#include <random>

#include "model/small_gpt.hpp"
#include "mylos/optim/update/weight_update.hpp"
#include "support/device_values.hpp"

namespace mylos::weight_update_test {

struct Case {
  std::string name;
  DType compute = DType::bf16;
  std::vector<PrecisionRule> rules = {};
  GradientType gradient = GradientType::automatic;
  MasterWeights masters = MasterWeights::fp32;
  OptimizerType optimizer = OptimizerType::adamw;
};

OptimizerOptions options_of(const Case& test) {
  OptimizerOptions options;
  options.type = test.optimizer;
  return options;
}

/// A GPT whose head reads the embedding's weights.
Chain chain_of(const Case& test) {
  ModelOptions model = test::small_gpt_options();
  model.layers = 16;  // more buckets than may be in flight
  model.width = 24;
  model.vocabulary = 70;
  PrecisionOptions precision;
  precision.compute = test.compute;
  precision.rules = test.rules;
  precision.gradient = test.gradient;
  precision.masters = test.masters;
  return make_gpt(model, precision, 1, false);
}

class WeightUpdates : public testing::TestWithParam<Case> {
 protected:
  /// A replica of the network on this rank, with all masters, its slices of them, or slices of the gradients
  /// too.
  struct Copy {
    Copy(const Chain& chain, Communicator& communicator, int shard_owners, std::size_t window)
        : store(make_parameter_layout(chain, 10000, communicator.size(), shard_owners, window),
                communicator.rank()),
          reduction(communicator, store, ReduceType::automatic, {1, 1, 1, communicator.size()}, 0,
                    Optimizer::exchanged_bytes(options_of(GetParam()), store.layout())),
          optimizer(options_of(GetParam()), store, reduction.remaining_divisors(), true),
          update(communicator, store, optimizer, waited_s) {
      store.initialize(Execution(), 5);
    }
    double waited_s = 0;
    ParameterStore store;
    GradientReduction reduction;
    Optimizer optimizer;
    WeightUpdate update;
  };

  /// Sets all gradients for an update on one rank; for sharded updates, as a reduction leaves them, only this
  /// rank's slices.
  void draw_gradients(int time) {
    std::mt19937 random(static_cast<unsigned>(time));
    std::normal_distribution<float> normal(0, 3);
    for (std::size_t b = 0; b < expected.store.layout().buckets.size(); ++b) {
      const GradientBucket& bucket = expected.store.layout().buckets[b];
      std::vector<float> values(static_cast<std::size_t>(bucket.count));
      for (float& value : values) value = normal(random);
      test::set_values(expected.store.gradient(bucket), values);
      const BucketSlice& own = sharded.store.held_slices()[b];
      const auto first = values.begin() + own.first;
      test::set_values(with_sharded_gradients.store.held_gradients(b), {first, first + own.count});
      for (std::int64_t i = 0; i < bucket.count; ++i) {
        if (i < own.first || i >= own.first + own.count)
          values[static_cast<std::size_t>(i)] = std::numeric_limits<float>::quiet_NaN();
      }
      for (Copy* copy : {&full, &sharded}) test::set_values(copy->store.gradient(bucket), values);
    }
  }
  void set_control(int time, std::int32_t apply = 1) {
    UpdateControl now;
    now.apply = apply;
    now.gradient_factor = 0.5f;
    now.updates = static_cast<std::uint64_t>(time);
    now.lr = 0.01f;
    now.bias_correction1 = 1 - std::pow(0.9f, static_cast<float>(time));
    now.bias_correction2 = 1 - std::pow(0.999f, static_cast<float>(time));
    control.set(now);
  }
  void update(int time, std::int32_t apply = 1) {
    set_control(time, apply);
    expected.optimizer.update(exec, control.data());
    for (Copy* copy : {&full, &sharded, &with_sharded_gradients}) {
      copy->update.start(exec, control.data());
      copy->update.finish(exec);
    }
    communicator->synchronize(exec);
  }
  void expect_equal() {
    for (const Copy* copy : {&full, &sharded, &with_sharded_gradients}) expect_equal(*copy);
  }
  void expect_equal_weights(const Copy& copy, std::size_t stage) {
    for (std::size_t i = 0; i < copy.store.weights(stage).size(); ++i) {
      EXPECT_EQ(test::bytes_of(copy.store.weights(stage)[i]),
                test::bytes_of(expected.store.weights(stage)[i]))
          << "stage " << stage << ", " << copy.store.weights(stage)[i].name;
    }
  }
  void expect_equal(const Copy& copy) {
    for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) expect_equal_weights(copy, stage);
    const std::vector<ParameterSlot>& slots = expected.store.layout().slots;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const HeldPart part = copy.store.held_master(i);
      EXPECT_EQ(test::bytes_of(part.values),
                test::bytes_of(expected.store.master(slots[i]).elements(part.first, part.values.size())))
          << slots[i].path();
    }
  }

  Execution exec;
  Chain chain = chain_of(GetParam());
  std::unique_ptr<Communicator> communicator = make_communicator(MPI_COMM_WORLD, {.timeout_s = 60});
  Copy expected{chain, *communicator, 1, 0};
  Copy full{chain, *communicator, 1, 0};
  Copy sharded{chain, *communicator, communicator->size(), 0};
  Copy with_sharded_gradients{chain, *communicator, communicator->size(), buckets_in_flight};
  test::DeviceValue<UpdateControl> control;
};

TEST_P(WeightUpdates, OfSlicesGiveEveryRankTheWeightsOfAll) {
  EXPECT_EQ(with_sharded_gradients.store.layout().cuts_gradients(), communicator->size() > 1);
  expect_equal();
  for (int time = 1; time <= 3; ++time) {
    draw_gradients(time);
    update(time);
    expect_equal();
  }
}

TEST_P(WeightUpdates, GiveAForwardPassEachBlockWhenItAsks) {
  const bool exchanges_something = communicator->size() > 1 && !communicator->runs_on_device();
  for (int time = 1; time <= 2; ++time) {
    draw_gradients(time);
    set_control(time);
    expected.optimizer.update(exec, control.data());
    for (Copy* copy : {&full, &sharded, &with_sharded_gradients}) {
      copy->update.start(exec, control.data());
      for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
        copy->update.complete_block(exec, stage);
        if (communicator->runs_on_device()) communicator->synchronize(exec);
        expect_equal_weights(*copy, stage);
        if (stage == 0 && exchanges_something) {
          EXPECT_THROW(communicator->ranks().barrier(), Error) << "the others still travel";
        }
      }
      communicator->ranks().barrier();
    }
    expect_equal();
  }
}

TEST_P(WeightUpdates, AreRefusedToAnOptimizerOfAllBucketsTogether) {
  const Optimizer together(options_of(GetParam()), full.store, full.reduction.remaining_divisors());
  EXPECT_THROW(together.update(exec, control.data(), 0), Error);
}

TEST_P(WeightUpdates, LeaveEveryBitWhereTheStepIsSkipped) {
  draw_gradients(1);
  update(1);
  draw_gradients(2);
  update(2, 0);
  expect_equal();
  draw_gradients(3);
  update(2);
  expect_equal();
}

TEST_P(WeightUpdates, RefreshWhatWasReadIntoTheMasters) {
  for (Copy* copy : {&expected, &full, &sharded, &with_sharded_gradients}) {
    for (std::size_t i = 0; i < copy->store.layout().slots.size(); ++i) {
      const HeldPart part = copy->store.held_master(i);
      if (part.values.empty()) continue;
      std::vector<float> values(static_cast<std::size_t>(part.values.size()));
      for (std::size_t e = 0; e < values.size(); ++e) {
        const auto element = static_cast<std::size_t>(part.first) + e;
        values[e] = std::sin(static_cast<float>(element + 100 * i));
      }
      test::set_values(part.values, values);
    }
    copy->update.refresh(exec);
  }
  communicator->synchronize(exec);
  expect_equal();
}

INSTANTIATE_TEST_SUITE_P(
    Types, WeightUpdates,
    testing::Values(
        Case{"float", DType::fp32}, Case{"bfloat16"}, Case{"half", DType::fp16},
        Case{"float_head", DType::bf16, {{"head", DType::fp32}}},
        Case{"several_in_a_bucket",
             DType::fp16,
             {{"head", DType::fp32}, {"attention*", DType::bf16}, {"mlp*", DType::fp32}},
             GradientType::fp32},
        Case{"lamb", DType::fp32, {}, GradientType::automatic, MasterWeights::fp32, OptimizerType::lamb},
        Case{"lamb_of_several",
             DType::fp16,
             {{"head", DType::fp32}, {"attention*", DType::bf16}, {"mlp*", DType::fp32}},
             GradientType::fp32,
             MasterWeights::fp32,
             OptimizerType::lamb},
        Case{"lamb_alone",
             DType::bf16,
             {{"head", DType::fp32}},
             GradientType::automatic,
             MasterWeights::none,
             OptimizerType::lamb},
        Case{"bfloat16_alone", DType::bf16, {}, GradientType::automatic, MasterWeights::none},
        Case{"half_alone", DType::fp16, {}, GradientType::fp32, MasterWeights::none},
        Case{"alone_with_float_head",
             DType::bf16,
             {{"head", DType::fp32}},
             GradientType::automatic,
             MasterWeights::none},
        Case{"several_alone",
             DType::fp16,
             {{"head", DType::fp32}, {"attention*", DType::bf16}, {"mlp*", DType::fp32}},
             GradientType::fp32,
             MasterWeights::none}),
    [](const auto& test) { return test.param.name; });

}  // namespace mylos::weight_update_test
