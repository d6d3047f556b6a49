// The flat arenas: order, alignment, buckets and padding; and initial weights that depend on seed and name
// alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "mylos/base/execution.hpp"
#include "mylos/model/network/gpt.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/model/parameters/parameter_slices.hpp"
#include "mylos/model/parameters/parameter_store.hpp"
#include "support/device_values.hpp"

namespace mylos::parameters_test {

using testing::ElementsAre;

struct Network {
  std::vector<std::int64_t> hidden{50, 30};
  NormType norm = NormType::layernorm;
  DType compute = DType::bf16;
  std::vector<PrecisionRule> rules = {};
  GradientType gradient = GradientType::automatic;
  bool accumulates = false;
};

Chain chain_of(const Network& network) {
  ModelOptions model;
  model.inputs = 17;
  model.outputs = 7;
  model.hidden = network.hidden;
  model.norm = network.norm;
  PrecisionOptions precision;
  precision.compute = network.compute;
  precision.rules = network.rules;
  precision.gradient = network.gradient;
  return make_mlp(model, precision, 1, network.accumulates);
}

std::vector<Network> many_networks() {
  return {{},
          {.hidden = {}},
          {.hidden = {3, 5, 200, 9}},
          {.norm = NormType::none, .compute = DType::fp32},
          {.compute = DType::fp16, .rules = {{"head", DType::fp32}, {"layernorm", DType::fp32}}},
          {.rules = {{"hidden2", DType::fp16}}, .accumulates = true},
          {.compute = DType::fp16,
           .rules = {{"head", DType::fp32}},
           .gradient = GradientType::compute,
           .accumulates = true},
          {.gradient = GradientType::fp32}};
}
constexpr std::array<std::int64_t, 4> bucket_sizes{1, 3000, 6000, 25 << 20};

TEST(ParameterLayout, LiesInBackwardOrder) {
  const ParameterLayout layout = make_parameter_layout(chain_of({}), 1 << 20, 1);
  std::vector<std::string> paths;
  for (const ParameterSlot& slot : layout.slots) paths.push_back(slot.path());
  EXPECT_THAT(paths,
              ElementsAre("head/weight", "head/bias", "norm2/weight", "norm2/bias", "hidden2/weight",
                          "hidden2/bias", "norm1/weight", "norm1/bias", "hidden1/weight", "hidden1/bias"));
  EXPECT_THAT(layout.slots_of_block[0], ElementsAre(8u, 9u));  // in the order of parameters()
  EXPECT_THAT(layout.slots_of_block[4], ElementsAre(0u, 1u));
}

TEST(ParameterLayout, SlotsAreAlignedDisjointAndInsideTheirBucket) {
  for (const Network& network : many_networks()) {
    const Chain chain = chain_of(network);
    for (int world = 1; world <= 5; ++world) {
      for (const std::int64_t bucket_bytes : bucket_sizes) {
        const ParameterLayout layout = make_parameter_layout(chain, bucket_bytes, world);
        std::int64_t elements = 0;
        std::size_t gradient_end = 0;
        std::size_t compute_end = 0;
        std::int64_t parameters = 0;
        for (const ParameterSlot& slot : layout.slots) {
          const GradientBucket& bucket = layout.buckets[slot.bucket];
          const std::size_t gradient_bytes = static_cast<std::size_t>(slot.size()) * size_of(bucket.type);
          EXPECT_EQ(slot.offset * 4 % 64, 0);
          EXPECT_EQ(slot.gradient_offset % 64, 0u);
          EXPECT_GE(slot.offset, elements);
          EXPECT_GE(slot.gradient_offset, gradient_end);
          elements = slot.offset + slot.size();
          gradient_end = slot.gradient_offset + gradient_bytes;
          EXPECT_GE(slot.offset, bucket.first);
          EXPECT_LE(elements, bucket.first + bucket.count);
          EXPECT_EQ(slot.gradient_offset,
                    bucket.gradient_offset +
                        static_cast<std::size_t>(slot.offset - bucket.first) * size_of(bucket.type));
          EXPECT_EQ(slot.spec.type, chain.signature(slot.block).compute_type);
          EXPECT_EQ(bucket.type, slot.spec.gradient_type);
          EXPECT_EQ(slot.compute_offset.has_value(), slot.spec.type != DType::fp32);
          if (slot.compute_offset) {
            EXPECT_EQ(*slot.compute_offset % 64, 0u);
            EXPECT_GE(*slot.compute_offset, compute_end);
            compute_end = *slot.compute_offset + static_cast<std::size_t>(slot.size()) * 2;
          }
          parameters += slot.size();
        }
        EXPECT_LE(elements, layout.elements);
        EXPECT_LE(gradient_end, layout.gradient_bytes);
        EXPECT_LE(compute_end, layout.compute_bytes);
        EXPECT_EQ(parameters, chain.parameter_count());
      }
    }
  }
}

TEST(ParameterLayout, BucketsTileTheArenasInEqualCacheLinesForEveryRank) {
  for (const Network& network : many_networks()) {
    const Chain chain = chain_of(network);
    for (int world = 1; world <= 5; ++world) {
      for (const std::int64_t bucket_bytes : bucket_sizes) {
        const ParameterLayout layout = make_parameter_layout(chain, bucket_bytes, world);
        std::int64_t elements = 0;
        std::size_t gradient_bytes = 0;
        for (const GradientBucket& bucket : layout.buckets) {
          EXPECT_EQ(bucket.first, elements);
          EXPECT_EQ(bucket.gradient_offset, gradient_bytes);
          EXPECT_GT(bucket.count, 0);
          EXPECT_EQ(bucket.count % (32 * world), 0) << "for " << world << " ranks";
          elements += bucket.count;
          gradient_bytes += static_cast<std::size_t>(bucket.count) * size_of(bucket.type);
        }
        EXPECT_EQ(elements, layout.elements);
        EXPECT_EQ(gradient_bytes, layout.gradient_bytes);
      }
    }
  }
}

TEST(ParameterSlices, OfAllRanksTileEveryBucketAndEveryParameter) {
  for (const Network& network : many_networks()) {
    const Chain chain = chain_of(network);
    for (int world = 1; world <= 5; ++world) {
      for (const std::int64_t bucket_bytes : bucket_sizes) {
        const ParameterLayout layout = make_parameter_layout(chain, bucket_bytes, world);
        std::vector<std::int64_t> bucket_ends(layout.buckets.size());
        std::vector<std::int64_t> slot_ends(layout.slots.size());
        for (int rank = 0; rank < world; ++rank) {
          const std::vector<BucketSlice> slices = slices_of_rank(layout, rank, world);
          ASSERT_EQ(slices.size(), layout.buckets.size());
          for (std::size_t b = 0; b < slices.size(); ++b) {
            EXPECT_EQ(slices[b].first, bucket_ends[b]);
            EXPECT_EQ(slices[b].count * world, layout.buckets[b].count);
            bucket_ends[b] += slices[b].count;
            for (const ParameterPart& part : slices[b].parts) {
              const ParameterSlot& slot = layout.slots[part.slot];
              EXPECT_EQ(slot.bucket, b);
              EXPECT_EQ(part.first, slot_ends[part.slot]) << slot.path();
              EXPECT_GT(part.count, 0);
              EXPECT_EQ(layout.buckets[b].first + slices[b].first + part.offset, slot.offset + part.first);
              EXPECT_LE(part.offset + part.count, slices[b].count);
              slot_ends[part.slot] += part.count;
            }
          }
        }
        for (std::size_t i = 0; i < slot_ends.size(); ++i) EXPECT_EQ(slot_ends[i], layout.slots[i].size());
      }
    }
  }
}

TEST(ParameterLayout, ABucketClosesWithTheGroupThatFillsIt) {
  const Chain chain = chain_of({.norm = NormType::none, .compute = DType::fp32});
  // In elements, each parameter rounded up to 32 on hosts: head 256, hidden2 1536, hidden1 928.
  constexpr auto slot = [](std::int64_t elements) {
    constexpr std::int64_t multiple = arena_alignment / 2;
    return (elements + multiple - 1) / multiple * multiple;
  };
  constexpr std::int64_t head = slot(210) + slot(7), hidden2 = slot(1500) + slot(30);
  const auto ends = [&](std::int64_t bucket_bytes) {
    std::vector<std::size_t> last_blocks;
    for (const GradientBucket& bucket : make_parameter_layout(chain, bucket_bytes, 1).buckets) {
      last_blocks.push_back(bucket.last_block);
    }
    return last_blocks;
  };
  EXPECT_THAT(ends(1), ElementsAre(2u, 1u, 0u));
  EXPECT_THAT(ends(4 * head), ElementsAre(2u, 1u, 0u));
  EXPECT_THAT(ends(4 * head + 1), ElementsAre(1u, 0u));
  EXPECT_THAT(ends(4 * (head + hidden2)), ElementsAre(1u, 0u));
  EXPECT_THAT(ends(4 * (head + hidden2) + 1), ElementsAre(0u));
}

TEST(ParameterLayout, WithoutASizeABucketIsA32ndOfTheGradientsWithinBounds) {
  const auto size = [](const Network& network, int ranks = 1) {
    return make_parameter_layout(chain_of(network), 0, ranks).bucket_bytes;
  };
  const Network middle{.hidden = std::vector<std::int64_t>(8, 2000)};
  // Weights, biases and, after each hidden layer, a norm's weights and biases; from 17 inputs to 7 outputs.
  const std::int64_t parameters = 17 * 2000 + 7 * 2000 * 2000 + 2000 * 7 + 3 * 8 * 2000 + 7;
  EXPECT_EQ(size({}), 1 << 20);
  EXPECT_EQ(size(middle), 2 * parameters / 32);  // in bfloat16
  EXPECT_EQ(size(middle, 3), 2 * parameters / 32);
  EXPECT_EQ(size({.hidden = middle.hidden, .compute = DType::fp32}), 4 * parameters / 32);
  EXPECT_EQ(size({.hidden = middle.hidden, .gradient = GradientType::fp32}), 4 * parameters / 32);
  EXPECT_EQ(size({.hidden = {20000, 22000, 20000}}), 25 << 20);
  EXPECT_EQ(make_parameter_layout(chain_of(middle), 3000, 1).bucket_bytes, 3000);

  const ParameterLayout layout = make_parameter_layout(chain_of(middle), 0, 1);
  const ParameterLayout given = make_parameter_layout(chain_of(middle), layout.bucket_bytes, 1);
  ASSERT_EQ(layout.buckets.size(), 8u);  // one for each of seven large layers, and one for the rest
  ASSERT_EQ(given.buckets.size(), layout.buckets.size());
  for (std::size_t i = 0; i < given.buckets.size(); ++i)
    EXPECT_EQ(layout.buckets[i].count, given.buckets[i].count);
}

TEST(ParameterLayout, MixedGradientTypesNeverShareABucket) {
  const Network network{.rules = {{"layernorm", DType::fp32}, {"head", DType::fp16}}};
  const ParameterLayout layout = make_parameter_layout(chain_of(network), 25 << 20, 2);
  std::vector<DType> types;
  std::vector<std::size_t> last_blocks;
  for (const GradientBucket& bucket : layout.buckets) {
    types.push_back(bucket.type);
    last_blocks.push_back(bucket.last_block);
  }
  EXPECT_THAT(types, ElementsAre(DType::fp16, DType::fp32, DType::bf16, DType::fp32, DType::bf16));
  EXPECT_THAT(last_blocks, ElementsAre(4u, 3u, 2u, 1u, 0u));
}

/// The masters by path.
std::map<std::string, std::vector<std::byte>> initial_masters(const Network& network,
                                                              std::int64_t bucket_bytes, int world,
                                                              std::uint64_t seed) {
  ParameterStore store(make_parameter_layout(chain_of(network), bucket_bytes, world));
  store.initialize(Execution(), seed);
  Kokkos::fence();
  std::map<std::string, std::vector<std::byte>> masters;
  for (const ParameterSlot& slot : store.layout().slots)
    masters[slot.path()] = test::bytes_of(store.master(slot));
  return masters;
}

TEST(ParameterStore, InitialWeightsDependNeitherOnBucketsNorRanksNorTypes) {
  const auto expected = initial_masters({}, 25 << 20, 1, 3);
  EXPECT_EQ(expected.size(), 10u);
  for (int world = 1; world <= 5; ++world) {
    for (const std::int64_t bucket_bytes : bucket_sizes) {
      EXPECT_EQ(initial_masters({}, bucket_bytes, world, 3), expected);
      EXPECT_EQ(initial_masters({.compute = DType::fp32}, bucket_bytes, world, 3), expected);
    }
  }
}

TEST(ParameterStore, InitialWeightsDependOnSeedLayerAndName) {
  const Network square{.hidden = {17, 17}, .norm = NormType::none};
  const auto one = initial_masters(square, 1, 1, 3);
  const auto other = initial_masters(square, 1, 1, 4);
  for (const auto& [path, bytes] : one) EXPECT_NE(bytes, other.at(path)) << path;
  const auto& weight = one.at("hidden1/weight");
  const auto& bias = one.at("hidden1/bias");
  EXPECT_FALSE(std::equal(bias.begin(), bias.end(), weight.begin()));
  EXPECT_NE(one.at("hidden1/weight"), one.at("hidden2/weight"));
  EXPECT_NE(one.at("hidden1/bias"), one.at("hidden2/bias"));
  const auto deeper = initial_masters({.hidden = {17, 17, 17}, .norm = NormType::none}, 1, 1, 3);
  EXPECT_EQ(one.at("hidden1/weight"), deeper.at("hidden1/weight"));
  EXPECT_EQ(one.at("hidden2/bias"), deeper.at("hidden2/bias"));
}

TEST(ParameterStore, WeightsAreUniformWithinTheInverseRootOfTheInputs) {
  ParameterStore store(
      make_parameter_layout(chain_of({.hidden = {400, 300}, .norm = NormType::none}), 1 << 20, 1));
  store.initialize(Execution(), 11);
  Kokkos::fence();
  for (const ParameterSlot& slot : store.layout().slots) {
    const double inputs = slot.layer == "hidden1" ? 17 : slot.layer == "hidden2" ? 400 : 300;
    const double bound = 1 / std::sqrt(inputs);
    double sum = 0, squares = 0, largest = 0;
    for (const double value : test::values_of(store.master(slot))) {
      sum += value;
      squares += value * value;
      largest = std::max(largest, std::abs(value));
    }
    const auto count = static_cast<double>(slot.size());
    EXPECT_LE(largest, bound * (1 + 1e-6)) << slot.path();
    if (count < 1000) continue;
    // Mean and variance of the uniform distribution, within five standard deviations of their estimates.
    EXPECT_GT(largest, 0.99 * bound) << slot.path();
    EXPECT_NEAR(sum / count, 0, 5 * bound / std::sqrt(3 * count)) << slot.path();
    EXPECT_NEAR(squares / count, bound * bound / 3, 5 * bound * bound * std::sqrt(4.0 / 45 / count))
        << slot.path();
  }
}

TEST(ParameterStore, TransformersStartFromGpt2sNormalNumbers) {
  ModelOptions model;
  model.type = ModelType::gpt;
  model.layers = 8;
  model.heads = 4;
  model.width = 64;
  model.context = 50;
  model.vocabulary = 301;
  ParameterStore store(make_parameter_layout(make_gpt(model, {}, 1, false), 1 << 20, 1));
  store.initialize(Execution(), 5);
  Kokkos::fence();
  for (const ParameterSlot& slot : store.layout().slots) {
    const std::vector<float> values = test::values_of(store.master(slot));
    if (!slot.spec.is_matrix) {
      EXPECT_THAT(values, testing::Each(slot.spec.name.ends_with("weight") ? 1.0f : 0.0f)) << slot.path();
      continue;
    }
    const bool residual = slot.spec.name == "output_weight" || slot.spec.name == "down_weight";
    const double deviation = residual ? 0.02 / 4 : 0.02;  // sqrt(2 · 8 layers) = 4
    double sum = 0, squares = 0, fourths = 0;
    for (const float value : values) {
      const double x = value / deviation;
      sum += x;
      squares += x * x;
      fourths += x * x * x * x;
    }
    // Moments 0, 1 and 3 of the normal distribution, within five standard deviations of their estimates.
    const auto count = static_cast<double>(values.size());
    EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count)) << slot.path();
    EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2 / count)) << slot.path();
    EXPECT_NEAR(fourths / count, 3, 5 * std::sqrt(96 / count)) << slot.path();
  }
}

TEST(ParameterStore, ComputeWeightsAreTheRoundedMasters) {
  const Network network{.rules = {{"hidden1", DType::fp16}, {"head", DType::fp32}}};
  ParameterStore store(make_parameter_layout(chain_of(network), 6000, 3));
  store.initialize(Execution(), 2);
  Kokkos::fence();
  for (const ParameterSlot& slot : store.layout().slots) {
    const DType type = slot.layer == "hidden1" ? DType::fp16
                       : slot.layer == "head"  ? DType::fp32
                                               : DType::bf16;
    const std::vector<float> masters = test::values_of(store.master(slot));
    const std::vector<float> weights = test::values_of(store.compute_weight(slot));
    ASSERT_EQ(store.compute_weight(slot).type(), type) << slot.path();
    ASSERT_EQ(weights.size(), masters.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
      EXPECT_EQ(weights[i], test::rounded_to(type, masters[i]));
    if (type == DType::fp32) {
      EXPECT_EQ(store.compute_weight(slot).data(), store.master(slot).data());  // no second copy
    }
  }
}

TEST(ParameterStore, TakesFourBytesPerMasterAndTwoPerComputeWeight) {
  const ParameterStore store(make_parameter_layout(chain_of({}), 25 << 20, 1));
  const auto elements = static_cast<std::size_t>(store.layout().elements);
  EXPECT_EQ(store.bytes(), elements * 4 + store.layout().compute_bytes + elements * 2);
}

}  // namespace mylos::parameters_test
