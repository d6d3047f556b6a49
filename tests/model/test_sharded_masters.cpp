// Sharded masters: the owners of slices, the offsets of the compute weights, and the weights that blocks
// read.
#include <gtest/gtest.h>

#include "model/padded_gpt.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/model/parameters/parameter_store.hpp"
#include "support/device_values.hpp"

namespace mylos::sharded_masters_test {

using Bytes = std::vector<std::byte>;

struct Network {
  DType compute = DType::bf16;
  std::vector<PrecisionRule> rules = {};
  GradientType gradient = GradientType::automatic;
  bool is_gpt = false;
  bool tied = true;
};

Chain chain_of(const Network& network) {
  const PrecisionOptions precision = test::precision_of(network.compute, network.rules, network.gradient);
  if (network.is_gpt) return make_gpt(test::padded_gpt_options(2, network.tied), precision, 1, false);
  ModelOptions model;
  model.inputs = 17;
  model.outputs = 7;
  model.hidden = {50, 30};
  model.norm = NormType::layernorm;
  return make_mlp(model, precision, 1, false);
}

/// One type; several interleaved; several in one bucket; a tied head that reads the embedding in its type, or
/// as floats.
std::vector<Network> many_networks() {
  return {{.compute = DType::fp32},
          {},
          {.compute = DType::fp16, .rules = {{"layernorm", DType::fp32}}},
          {.rules = {{"layernorm", DType::fp32}, {"hidden2", DType::fp16}}, .gradient = GradientType::fp32},
          {.is_gpt = true},
          {.is_gpt = true, .tied = false},
          {.rules = {{"head", DType::fp32}}, .is_gpt = true},
          {.rules = {{"head", DType::fp32}, {"mlp*", DType::fp32}},
           .gradient = GradientType::fp32,
           .is_gpt = true}};
}
constexpr std::array<std::int64_t, 3> bucket_sizes{1, 6000, 25 << 20};

/// Calls test(chain, bucket bytes, ranks).
template <class Test>
void for_many_layouts(const Test& test) {
  for (const Network& network : many_networks()) {
    for (const int world : {2, 3, 5}) {
      for (const std::int64_t bucket_bytes : bucket_sizes) test(chain_of(network), bucket_bytes, world);
    }
  }
}

TEST(CutMasters, LeaveBucketsAndGradientsWhereTheyAre) {
  for_many_layouts([](const Chain& chain, std::int64_t bucket_bytes, int world) {
    const ParameterLayout unsharded = make_parameter_layout(chain, bucket_bytes, world);
    const ParameterLayout sharded = make_parameter_layout(chain, bucket_bytes, world, world);
    ASSERT_EQ(sharded.buckets.size(), unsharded.buckets.size());
    for (std::size_t i = 0; i < sharded.buckets.size(); ++i) {
      EXPECT_EQ(sharded.buckets[i].first, unsharded.buckets[i].first);
      EXPECT_EQ(sharded.buckets[i].count, unsharded.buckets[i].count);
      EXPECT_EQ(sharded.buckets[i].type, unsharded.buckets[i].type);
      EXPECT_EQ(sharded.buckets[i].gradient_offset, unsharded.buckets[i].gradient_offset);
      EXPECT_EQ(sharded.buckets[i].last_block, unsharded.buckets[i].last_block);
    }
    for (std::size_t i = 0; i < sharded.slots.size(); ++i) {
      EXPECT_EQ(sharded.slots[i].path(), unsharded.slots[i].path());
      EXPECT_EQ(sharded.slots[i].offset, unsharded.slots[i].offset);
      EXPECT_EQ(sharded.slots[i].gradient_offset, unsharded.slots[i].gradient_offset);
    }
    EXPECT_EQ(sharded.elements, unsharded.elements);
    EXPECT_EQ(sharded.gradient_bytes, unsharded.gradient_bytes);
  });
}

TEST(CutMasters, ComputeWeightsHavePlacesOfTheirOwnInTheirArena) {
  for_many_layouts([](const Chain& chain, std::int64_t bucket_bytes, int world) {
    const ParameterLayout layout = make_parameter_layout(chain, bucket_bytes, world, world);
    std::vector<std::pair<std::size_t, std::size_t>> places;
    const auto add = [&](std::optional<std::size_t> begin, const ParameterSlot& slot, DType type) {
      ASSERT_TRUE(begin.has_value()) << slot.path();
      EXPECT_EQ(*begin % arena_alignment, 0u) << slot.path();
      places.emplace_back(*begin, *begin + static_cast<std::size_t>(slot.size()) * size_of(type));
    };
    for (const ParameterSlot& slot : layout.slots) {
      add(slot.compute_offset, slot, slot.spec.type);
      const GradientBucket& bucket = layout.buckets[slot.bucket];
      if (!bucket.compute_type) continue;
      EXPECT_EQ(*bucket.compute_type, slot.spec.type);
      EXPECT_EQ(*slot.compute_offset - bucket.compute_offset,
                static_cast<std::size_t>(slot.offset - bucket.first) * size_of(slot.spec.type));
    }
    if (const auto& borrowed = layout.borrowed_by_head) {
      const ParameterSlot& slot = layout.slots[borrowed->slot];
      if (borrowed->type != slot.spec.type) add(borrowed->compute_offset, slot, borrowed->type);
    }
    std::sort(places.begin(), places.end());
    for (std::size_t i = 1; i < places.size(); ++i) EXPECT_GE(places[i].first, places[i - 1].second);
    EXPECT_LE(places.back().second, layout.compute_bytes);
    for (const GradientBucket& bucket : layout.buckets) {
      if (!bucket.compute_type) continue;
      EXPECT_LE(
          bucket.compute_offset + static_cast<std::size_t>(bucket.count) * size_of(*bucket.compute_type),
          layout.compute_bytes);
    }
  });
}

TEST(CutMasters, FloatsAreHeldOnceAndOthersAsASlice) {
  const auto bytes = [](const Network& network, int shard_owners) {
    const ParameterLayout layout = make_parameter_layout(chain_of(network), 25 << 20, 4, shard_owners);
    return std::pair(layout.master_bytes(), static_cast<std::size_t>(layout.elements));
  };
  const auto [floats, all_floats] = bytes({.compute = DType::fp32}, 4);
  EXPECT_EQ(floats, 0u) << "they are a slice of the compute weights";
  const auto [slices, all] = bytes({}, 4);
  EXPECT_EQ(slices, all * sizeof(float) / 4);
  EXPECT_EQ(bytes({}, 1).first, all * sizeof(float));
}

TEST(CutMasters, AreDrawnAsIfTheyWereNot) {
  const Execution exec;
  for_many_layouts([&](const Chain& chain, std::int64_t bucket_bytes, int world) {
    ParameterStore unsharded(make_parameter_layout(chain, bucket_bytes, world));
    unsharded.initialize(exec, 5);
    std::vector<Bytes> masters(unsharded.layout().slots.size());
    for (int rank = 0; rank < world; ++rank) {
      ParameterStore sharded(make_parameter_layout(chain, bucket_bytes, world, world), rank);
      sharded.initialize(exec, 5);
      exec.fence();
      EXPECT_EQ(sharded.bytes(), sharded.layout().bytes());
      for (std::size_t i = 0; i < masters.size(); ++i) {
        const HeldPart part = sharded.held_master(i);
        if (part.values.empty()) continue;
        EXPECT_EQ(masters[i].size(), static_cast<std::size_t>(part.first) * sizeof(float));
        const Bytes bytes = test::bytes_of(part.values);
        masters[i].insert(masters[i].end(), bytes.begin(), bytes.end());
      }
      for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
        ASSERT_EQ(sharded.weights(stage).size(), unsharded.weights(stage).size());
        for (std::size_t i = 0; i < sharded.weights(stage).size(); ++i) {
          const NamedTensor& weight = sharded.weights(stage)[i];
          EXPECT_EQ(weight.type(), unsharded.weights(stage)[i].type()) << weight.name;
          EXPECT_EQ(test::bytes_of(weight), test::bytes_of(unsharded.weights(stage)[i])) << weight.name;
        }
      }
    }
    for (std::size_t i = 0; i < masters.size(); ++i) {
      EXPECT_EQ(masters[i], test::bytes_of(unsharded.master(unsharded.layout().slots[i])));
    }
  });
}

TEST(CutMasters, AreNotToBeHadAsAWhole) {
  const ParameterStore sharded(make_parameter_layout(chain_of({}), 25 << 20, 2, 2), 1);
  EXPECT_THROW(static_cast<void>(sharded.master(sharded.layout().slots[0])), Error);
}

}  // namespace mylos::sharded_masters_test
