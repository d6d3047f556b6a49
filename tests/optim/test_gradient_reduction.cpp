// The reduction on several ranks: the mean over the global batch, of which each rank holds one slice.
#include <gtest/gtest.h>

#include <cmath>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/model/network/training_model.hpp"
#include "mylos/optim/gradients/gradient_reduction.hpp"
#include "support/device_values.hpp"
#include "support/tree.hpp"

namespace mylos::gradient_reduction_test {

/// `narrow` layers of another size follow two wide ones.
Chain small_chain(DType compute, GradientType gradient, std::vector<PrecisionRule> rules = {},
                  std::size_t narrow = 0) {
  ModelOptions model;
  model.hidden = {40, 24};
  model.hidden.insert(model.hidden.end(), narrow, 8);
  model.norm = NormType::layernorm;
  model.inputs = 12;
  model.outputs = 5;
  PrecisionOptions precision;
  precision.compute = compute;
  precision.gradient = gradient;
  precision.rules = std::move(rules);
  return make_mlp(model, precision, 1, gradient == GradientType::fp32);
}

/// Returns the samples of each rank: the first batch % ranks ranks have one sample more.
struct Share {
  std::int64_t first, count;
};
Share share_of(std::int64_t batch, int ranks, int rank) {
  const std::int64_t base = batch / ranks;
  const std::int64_t extra = batch % ranks;
  return {rank * base + std::min<std::int64_t>(rank, extra), base + (rank < extra ? 1 : 0)};
}

/// Returns the gradient of one sample for one element, in [-1, 1]; every rank can compute it.
double sample_gradient(std::int64_t sample, std::size_t element) {
  const RandomStream stream(1, RandomPurpose::sampling, "gradients");
  return 2.0 * uniform_from(stream.word(0, static_cast<std::uint64_t>(sample), element)) - 1.0;
}

class Reduction : public testing::Test {
 protected:
  /// Returns true if `own` has the same bytes on every rank.
  bool equal_on_all_ranks(const std::vector<std::byte>& own) {
    std::vector<std::byte> all(own.size() * static_cast<std::size_t>(ranks));
    communicator->ranks().all_gather(own.data(), all.data(), own.size());
    for (int r = 0; r < ranks; ++r) {
      if (!std::equal(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(own.size()) * r))
        return false;
    }
    return true;
  }
  /// Finishes the reduction and gathers the slices, to inspect all.
  void reduce(GradientReduction& reduction, ParameterStore& store, std::size_t blocks) {
    for (std::size_t block = blocks; block-- > 0;) reduction.block_done(exec, block);
    finish(reduction, store);
  }
  void finish(GradientReduction& reduction, ParameterStore& store) {
    reduction.finish(exec);
    for (const GradientBucket& bucket : store.layout().buckets) {
      const Tensor all = store.gradient(bucket);
      communicator->all_gather(exec, {all.data(), static_cast<std::size_t>(all.size()), all.type()});
    }
    communicator->synchronize(exec);
  }

  Execution exec;
  std::unique_ptr<Communicator> communicator = make_communicator(MPI_COMM_WORLD, {.timeout_s = 60});
  int rank = communicator->rank();
  int ranks = communicator->size();
};

TEST_F(Reduction, GivesTheMeanOverTheGlobalBatchWithUnequalShares) {
  constexpr std::int64_t batch = 13;
  const std::int64_t largest = share_of(batch, ranks, 0).count;
  const Share share = share_of(batch, ranks, rank);
  for (const DType compute : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const GradientType gradient : {GradientType::compute, GradientType::fp32}) {
      for (const ReduceType reduce_type : {ReduceType::automatic, ReduceType::compute, ReduceType::fp32}) {
        const Chain chain = small_chain(compute, gradient, {}, 2 * buckets_in_flight);
        ParameterStore store(make_parameter_layout(chain, 1, ranks));
        ASSERT_GT(store.layout().buckets.size(), 2 * buckets_in_flight);
        GradientReduction reduction(*communicator, store, reduce_type, {batch, largest, 1, ranks});
        const DType buffer = gradient == GradientType::fp32 ? DType::fp32 : compute;
        const DType wire = reduce_type == ReduceType::fp32      ? DType::fp32
                           : reduce_type == ReduceType::compute ? compute
                           : buffer == DType::bf16              ? DType::bf16
                                                                : DType::fp32;
        const double u = std::max(dispatch(wire, []<class T>(TypeTag<T>) { return unit_roundoff<T>; }),
                                  dispatch(buffer, []<class T>(TypeTag<T>) { return unit_roundoff<T>; }));
        for (int step = 0; step < 2; ++step) {  // the second step starts from the first step's buffers
          for (const ParameterSlot& slot : store.layout().slots) {
            std::vector<float> own(static_cast<std::size_t>(slot.size()));
            for (std::size_t i = 0; i < own.size(); ++i) {
              double sum = 0;
              for (std::int64_t s = share.first; s < share.first + share.count; ++s) {
                sum += sample_gradient(s + step, i) / static_cast<double>(largest);
              }
              own[i] = static_cast<float>(sum);
            }
            test::set_values(store.gradient(slot), own);
          }
          reduce(reduction, store, chain.blocks.size());
          for (const ParameterSlot& slot : store.layout().slots) {
            const std::vector<float> reduced = test::values_of(store.gradient(slot));
            const double remaining = reduction.remaining_divisors()[slot.bucket];
            for (std::size_t i = 0; i < reduced.size(); ++i) {
              double mean = 0;
              double magnitude = 0;  // of the rounded values: one contribution per rank
              for (std::int64_t s = 0; s < batch; ++s) {
                mean += sample_gradient(s + step, i) / batch;
                magnitude += std::abs(sample_gradient(s + step, i)) / batch;
              }
              ASSERT_NEAR(reduced[i] / remaining, mean, 3 * u * magnitude + 1e-6)
                  << slot.path() << " " << i << " " << name_of(buffer) << " over " << name_of(wire);
            }
          }
          for (const GradientBucket& bucket : store.layout().buckets) {
            EXPECT_TRUE(equal_on_all_ranks(test::bytes_of(store.gradient(bucket))));
          }
        }
      }
    }
  }
}

TEST_F(Reduction, SumsInFloatByTheTreeOverRanksAndRoundsOnce) {
  if (ranks == 1) GTEST_SKIP() << "one rank sums nothing";
  const float divisor = 2.6f;  // 13 samples, 5 of them in the largest micro-batch
  const auto contribution = [](int r, std::size_t i) {
    return std::ldexp(static_cast<float>(sample_gradient(r, i)), static_cast<int>(i % 23) - 11);
  };
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    const bool travels_as_float = type != DType::bf16;
    if (travels_as_float && communicator->runs_on_device()) continue;  // NCCL sums floats in its own order
    const Chain chain = small_chain(type, GradientType::compute);
    ParameterStore store(make_parameter_layout(chain, 1 << 20, ranks));
    GradientReduction reduction(*communicator, store, ReduceType::automatic, {13, 5, 1, ranks});
    const ParameterSlot& slot = store.layout().slots[4];
    std::vector<float> own(static_cast<std::size_t>(slot.size()));
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = contribution(rank, i);
    test::set_values(store.gradient(slot), own);
    reduce(reduction, store, chain.blocks.size());
    const std::vector<float> reduced = test::values_of(store.gradient(slot));
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      const auto part = [&](int r) { return test::rounded_to(type, contribution(r, i)); };
      auto sum = test::sum_by_tree<float>(0, ranks, part);
      if (type != DType::fp32) sum *= 1.0f / divisor;
      ASSERT_EQ(reduced[i], test::rounded_to(type, sum)) << i << " " << name_of(type);
    }
    EXPECT_EQ(reduction.remaining_divisors()[0], type == DType::fp32 ? divisor : 1.0f);
  }
}

TEST_F(Reduction, AMeanThatFitsIntoHalfSurvivesASumThatDoesNot) {
  for (const GradientType gradient : {GradientType::compute, GradientType::fp32}) {
    for (const ReduceType reduce_type : {ReduceType::automatic, ReduceType::compute, ReduceType::fp32}) {
      const Chain chain = small_chain(DType::fp16, gradient);
      ParameterStore store(make_parameter_layout(chain, 1 << 20, ranks));
      GradientReduction reduction(*communicator, store, reduce_type, {ranks, 1, 1, ranks});
      const ParameterSlot& slot = store.layout().slots[0];
      test::set_values(store.gradient(slot),
                       std::vector<float>(static_cast<std::size_t>(slot.size()), 60000.0f));
      reduce(reduction, store, chain.blocks.size());
      const float remaining = reduction.remaining_divisors()[0];
      for (const float value : test::values_of(store.gradient(slot))) EXPECT_EQ(value / remaining, 60000.0f);
    }
  }
}

TEST_F(Reduction, OneRanksInfinityAndNanReachAllRanks) {
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const float bad :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      const Chain chain = small_chain(type, GradientType::compute);
      ParameterStore store(make_parameter_layout(chain, 3000, ranks));
      GradientReduction reduction(*communicator, store, ReduceType::automatic, {ranks, 1, 1, ranks});
      for (int concerned = 0; concerned < ranks; ++concerned) {
        for (const ParameterSlot& slot : store.layout().slots) {
          std::vector<float> values(static_cast<std::size_t>(slot.size()), 1.0f);
          if (rank == concerned) values.back() = bad;
          test::set_values(store.gradient(slot), values);
        }
        reduce(reduction, store, chain.blocks.size());
        for (const ParameterSlot& slot : store.layout().slots) {
          const std::vector<float> values = test::values_of(store.gradient(slot));
          EXPECT_FALSE(std::isfinite(values.back())) << slot.path();
          EXPECT_TRUE(std::isfinite(values.front()));
        }
      }
    }
  }
}

TEST_F(Reduction, OwnSlicesTileEveryBucketOverTheRanks) {
  const Chain chain = small_chain(DType::bf16, GradientType::compute, {{"head", DType::fp32}});
  ParameterStore store(make_parameter_layout(chain, 3000, ranks));
  const GradientReduction reduction(*communicator, store, ReduceType::automatic, {1, 1, 1, ranks});
  ASSERT_EQ(reduction.own_slices().size(), store.layout().buckets.size());
  for (std::size_t i = 0; i < store.layout().buckets.size(); ++i) {
    const Tensor bucket = store.gradient(store.layout().buckets[i]);
    const Tensor slice = reduction.own_slices()[i];
    EXPECT_EQ(slice.size() * ranks, bucket.size());
    EXPECT_EQ(slice.type(), bucket.type());
    EXPECT_EQ(static_cast<std::byte*>(slice.data()),
              static_cast<std::byte*>(bucket.data()) + static_cast<std::size_t>(rank) * slice.bytes());
  }
}

TEST_F(Reduction, BucketsOfMixedTypesTravelInFloatEvenIfTheDeckSaysCompute) {
  if (ranks == 1) GTEST_SKIP() << "one rank sends nothing";
  // Float gradients of a bfloat16 and of a float layer share a bucket: the float layer must not lose digits.
  const Chain chain = small_chain(DType::bf16, GradientType::fp32, {{"head", DType::fp32}});
  ParameterStore store(make_parameter_layout(chain, 1 << 20, ranks));
  ASSERT_EQ(store.layout().buckets.size(), 1u);
  GradientReduction reduction(*communicator, store, ReduceType::compute, {1, 1, 1, ranks});
  const ParameterSlot& slot = store.layout().slots[store.layout().slots_of_block[chain.blocks.size() - 1][0]];
  const float value = 1.0f + 0x1p-20f;
  test::set_values(store.gradient(slot), std::vector<float>(static_cast<std::size_t>(slot.size()), value));
  reduce(reduction, store, chain.blocks.size());
  for (const float sum : test::values_of(store.gradient(slot)))
    EXPECT_EQ(sum, value * static_cast<float>(ranks));
}

TEST_F(Reduction, RanksThatShareABatchGetTheGradientsOfOneThatHasItAll) {
  constexpr std::int64_t batch = 11;
  const auto engines = make_engines({});
  const test::DeviceValue<std::uint64_t> step(4);
  const test::DeviceValue<float> scale(256);
  const test::DeviceValue<LossSums> sums;
  const Arena input_arena("input", 4096);
  const Arena label_arena("labels", 4096);
  const Tensor input = input_arena.tensor(0, DType::fp32, batch, 12);
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  for (std::int64_t s = 0; s < batch; ++s) {
    for (std::size_t i = 0; i < 12; ++i) values.push_back(static_cast<float>(sample_gradient(s, i)));
    labels.push_back(static_cast<std::int32_t>(s % 5));
  }
  test::set_values(input, values);
  test::copy_to_device(labels.data(), label_arena.data(), labels.size() * sizeof(std::int32_t));
  const auto* label = reinterpret_cast<const std::int32_t*>(label_arena.data());

  const auto backward = [&](TrainingModel& model, Share share, std::int64_t largest, const BlockDone& done) {
    const StepContext context{.exec = exec,
                              .engines = *engines,
                              .step = step.data(),
                              .first_sample = static_cast<std::uint64_t>(share.first)};
    model.forward(context, input.row_range(share.first, share.count));
    model.loss_and_seed(context, {.labels = label + share.first},
                        {scale.data(), 1.0f / static_cast<float>(largest)}, sums.data());
    model.backward(context, false, done);
  };
  const auto dropout_chain = [] {
    ModelOptions options;
    options.hidden = {20, 16};
    options.dropout = 0.3;
    options.inputs = 12;
    options.outputs = 5;
    PrecisionOptions precision;
    precision.compute = DType::fp32;
    return make_mlp(options, precision, 77, false);
  };

  TrainingModel whole(dropout_chain(), *engines, batch, 1 << 20, 1);
  whole.parameters().initialize(exec, 6);
  backward(whole, {0, batch}, batch, [](std::size_t) {});
  const std::int64_t largest = share_of(batch, ranks, 0).count;
  TrainingModel shared(dropout_chain(), *engines, largest, 1500, ranks);
  shared.parameters().initialize(exec, 6);
  GradientReduction reduction(*communicator, shared.parameters(), ReduceType::automatic,
                              {batch, largest, 1, ranks});
  backward(shared, share_of(batch, ranks, rank), largest,
           [&](std::size_t block) { reduction.block_done(exec, block); });
  finish(reduction, shared.parameters());

  for (const ParameterSlot& slot : shared.parameters().layout().slots) {
    const ParameterSlot& same = whole.parameters().layout().slots[static_cast<std::size_t>(
        &slot - shared.parameters().layout().slots.data())];
    ASSERT_EQ(same.path(), slot.path());
    const std::vector<float> expected = test::values_of(whole.parameters().gradient(same));
    const std::vector<float> reduced = test::values_of(shared.parameters().gradient(slot));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(reduced[i] / reduction.remaining_divisors()[slot.bucket], expected[i],
                  1e-5 * std::abs(expected[i]) + 1e-4)  // gradients are scaled by 256
          << slot.path() << " " << i;
    }
  }
}

}  // namespace mylos::gradient_reduction_test
