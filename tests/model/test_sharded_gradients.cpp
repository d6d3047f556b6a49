// Sharded gradients: buckets that share memory never have gradients at the same time.
#include <gtest/gtest.h>

#include "model/padded_gpt.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/model/parameters/parameter_store.hpp"

namespace mylos::sharded_gradients_test {

struct Network {
  std::size_t layers = 12;
  DType compute = DType::bf16;
  std::vector<PrecisionRule> rules = {};
  GradientType gradient = GradientType::automatic;
  bool is_gpt = true;
  bool tied = true;
  std::int64_t width = 20;  // of a perceptron
};

Chain chain_of(const Network& network) {
  const PrecisionOptions precision = test::precision_of(network.compute, network.rules, network.gradient);
  if (network.is_gpt)
    return make_gpt(test::padded_gpt_options(static_cast<std::int64_t>(network.layers), network.tied),
                    precision, 1, false);
  ModelOptions model;
  model.inputs = network.width;
  model.outputs = network.width;
  model.hidden.assign(network.layers, network.width);
  return make_mlp(model, precision, 1, false);
}

/// Layers of equal shape, with several types interleaved, and with heads that read the embedding's weights.
std::vector<Network> many_networks() {
  return {{.is_gpt = false},
          {.layers = 1, .is_gpt = false},
          {.compute = DType::fp16, .rules = {{"hidden7", DType::fp32}}, .is_gpt = false},
          {},
          {.compute = DType::fp32},
          {.tied = false},
          {.rules = {{"layernorm", DType::fp32}}},
          {.rules = {{"embedding", DType::fp32}, {"head", DType::fp32}}},
          {.rules = {{"head", DType::fp32}, {"mlp*", DType::fp32}}, .gradient = GradientType::fp32}};
}

/// Calls test(chain, bucket bytes, ranks, window).
template <class Test>
void for_many_layouts(const Test& test) {
  for (const Network& network : many_networks()) {
    for (const int world : {2, 3, 5}) {
      for (const std::int64_t bucket_bytes : {1, 6000, 25 << 20}) {
        for (const std::size_t window : {1u, 2u, 4u}) test(chain_of(network), bucket_bytes, world, window);
      }
    }
  }
}

std::size_t bytes_of(const GradientBucket& bucket) {
  return static_cast<std::size_t>(bucket.count) * size_of(bucket.type);
}

/// A backward pass that records which bucket owns which memory.
class BackwardPass {
 public:
  BackwardPass(const ParameterLayout& layout, std::size_t window)
      : layout_(layout), window_(window), lives_(layout.buckets.size()) {}

  void run() {
    for (std::size_t stage = layout_.slots_of_block.size(); stage-- > 0;) {
      for (std::size_t b = 0; b < lives_.size(); ++b) {
        if (begins(b, stage)) end_up_to(b, stage);
      }
      for (const std::size_t slot : layout_.slots_of_block[stage]) write(layout_.slots[slot].bucket);
      const auto& borrowed = layout_.borrowed_by_head;
      if (borrowed && stage + 1 == layout_.slots_of_block.size()) write(layout_.slots[borrowed->slot].bucket);
    }
  }

 private:
  [[nodiscard]] bool begins(std::size_t bucket, std::size_t stage) const {
    for (const ParameterSlot& slot : layout_.slots) {
      if (slot.bucket == bucket) return slot.block == stage;
    }
    return false;
  }
  /// Gradients that are complete and a window before `bucket` may be overwritten.
  void end_up_to(std::size_t bucket, std::size_t stage) {
    for (std::size_t b = 0; b + window_ <= bucket; ++b) {
      if (layout_.buckets[b].last_block > stage) lives_[b] = false;
    }
  }
  void write(std::size_t bucket) {
    lives_[bucket] = true;
    const GradientBucket& own = layout_.buckets[bucket];
    EXPECT_LE(own.gradient_offset + bytes_of(own), layout_.gradient_bytes);
    for (std::size_t b = 0; b < lives_.size(); ++b) {
      if (b == bucket || !lives_[b]) continue;
      const GradientBucket& other = layout_.buckets[b];
      EXPECT_TRUE(own.gradient_offset + bytes_of(own) <= other.gradient_offset ||
                  other.gradient_offset + bytes_of(other) <= own.gradient_offset)
          << "bucket " << bucket << " writes over " << b;
    }
  }

  const ParameterLayout& layout_;
  std::size_t window_;
  std::vector<bool> lives_;
};

TEST(CutGradients, AreNeverWrittenOverWhileABucketIsOnItsWay) {
  int sharded_layouts = 0;
  for_many_layouts([&](const Chain& chain, std::int64_t bucket_bytes, int world, std::size_t window) {
    const ParameterLayout layout = make_parameter_layout(chain, bucket_bytes, world, world, window);
    sharded_layouts += layout.cuts_gradients() ? 1 : 0;
    BackwardPass(layout, window).run();
  });
  EXPECT_GT(sharded_layouts, 30);
}

TEST(CutGradients, KeepTheirOrderAndBucketsAndTakeLessMemoryOrStayWhole) {
  for_many_layouts([](const Chain& chain, std::int64_t bucket_bytes, int world, std::size_t window) {
    const ParameterLayout unsharded = make_parameter_layout(chain, bucket_bytes, world, world);
    const ParameterLayout sharded = make_parameter_layout(chain, bucket_bytes, world, world, window);
    ASSERT_EQ(sharded.buckets.size(), unsharded.buckets.size());
    std::size_t slices = 0;
    for (std::size_t i = 0; i < sharded.buckets.size(); ++i) {
      EXPECT_EQ(sharded.buckets[i].first, unsharded.buckets[i].first);
      EXPECT_EQ(sharded.buckets[i].count, unsharded.buckets[i].count);
      EXPECT_EQ(sharded.buckets[i].held_first, unsharded.buckets[i].held_first);
      EXPECT_EQ(sharded.buckets[i].gradient_offset % arena_alignment, 0u);
      if (!sharded.cuts_gradients()) continue;
      EXPECT_EQ(sharded.buckets[i].slice_offset, slices);
      slices += bytes_of(sharded.buckets[i]) / static_cast<std::size_t>(world);
    }
    EXPECT_EQ(sharded.slice_bytes, slices);
    for (const ParameterSlot& slot : sharded.slots) {
      const GradientBucket& bucket = sharded.buckets[slot.bucket];
      EXPECT_EQ(slot.gradient_offset,
                bucket.gradient_offset +
                    static_cast<std::size_t>(slot.offset - bucket.first) * size_of(bucket.type));
    }
    if (sharded.cuts_gradients()) {
      EXPECT_LT(sharded.bytes(), unsharded.bytes());
    } else {
      EXPECT_EQ(sharded.gradient_bytes, unsharded.gradient_bytes);
    }
  });
}

TEST(CutGradients, OfLayersThatAreAlikeTakeAWindowHoweverManyThereAre) {
  for (const std::size_t layers : std::initializer_list<std::size_t>{10, 40, 200}) {
    const ParameterLayout layout =
        make_parameter_layout(chain_of({.layers = layers, .is_gpt = false, .width = 32}), 1, 2, 2, 4);
    ASSERT_EQ(layout.buckets.size(), layers + 1);
    EXPECT_EQ(layout.gradient_bytes, 4 * bytes_of(layout.buckets[0]));
    EXPECT_EQ(layout.slice_bytes, layout.buckets.size() * bytes_of(layout.buckets[0]) / 2);
  }
}

TEST(CutGradients, OfATiedEmbeddingHaveAPlaceOfTheirOwnFromTheHeadOn) {
  const ParameterLayout layout = make_parameter_layout(chain_of({}), 1, 2, 2, 2);
  ASSERT_TRUE(layout.cuts_gradients());
  const ParameterSlot& tied = layout.slots[layout.borrowed_by_head->slot];
  const GradientBucket& bucket = layout.buckets[tied.bucket];
  for (std::size_t i = 0; i < layout.buckets.size(); ++i) {
    const GradientBucket& other = layout.buckets[i];
    if (i == tied.bucket) continue;
    EXPECT_TRUE(other.gradient_offset + bytes_of(other) <= bucket.gradient_offset ||
                bucket.gradient_offset + bytes_of(bucket) <= other.gradient_offset);
  }
}

TEST(CutGradients, StayWholeWhereAllBucketsAreInTheWindow) {
  for (const std::int64_t bucket_bytes : {1, 25 << 20}) {
    const ParameterLayout layout =
        make_parameter_layout(chain_of({.layers = 3, .is_gpt = false}), bucket_bytes, 2, 2, 4);
    EXPECT_LE(layout.buckets.size(), 4u);
    EXPECT_FALSE(layout.cuts_gradients());
    const ParameterStore store(layout, 1);
    for (std::size_t i = 0; i < layout.buckets.size(); ++i) {
      const Tensor all = store.gradient(layout.buckets[i]);
      EXPECT_EQ(store.held_gradients(i).data(), all.elements(all.size() / 2, 1).data());
    }
  }
}

TEST(CutGradients, ArePlacedAsSlicesOneBehindTheOther) {
  const ParameterLayout layout = make_parameter_layout(chain_of({}), 1, 3, 3, 2);
  const ParameterStore store(layout, 2);
  EXPECT_EQ(store.bytes(), layout.bytes());
  const auto* end = static_cast<const std::byte*>(store.held_gradients(0).data());
  for (std::size_t i = 0; i < layout.buckets.size(); ++i) {
    const Tensor slice = store.held_gradients(i);
    EXPECT_EQ(slice.data(), end);
    EXPECT_EQ(slice.size() * 3, layout.buckets[i].count);
    EXPECT_EQ(slice.type(), layout.buckets[i].type);
    end += slice.bytes();
  }
}

}  // namespace mylos::sharded_gradients_test
