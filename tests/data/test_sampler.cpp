#include "mylos/data/feed/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "io/support.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/feed/share.hpp"
#include "support/said.hpp"

namespace mylos::sampler_test {

using namespace testing_support;

std::vector<std::int64_t> order(const Sampler& sampler, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  sampler.indices_at(first, indices);
  return indices;
}

SamplerOptions blocks_of_7(std::int64_t samples, std::int64_t batch, LastBatch last = LastBatch::join) {
  return {.samples = samples,
          .batch = batch,
          .shuffle = Shuffle::blocks,
          .last_batch = last,
          .block_samples = 7,
          .window_blocks = 3};
}

TEST(Sampler, AnEpochIsEverySampleOnceInBothShuffles) {
  for (const std::int64_t samples : {10, 49, 50, 97, 100, 147, 1000}) {
    for (auto options : {SamplerOptions{.samples = samples, .batch = 3, .last_batch = LastBatch::join},
                         blocks_of_7(samples, 3)}) {
      const Sampler sampler(options);
      ASSERT_EQ(sampler.epochs().length, samples);
      for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
        auto seen = order(sampler, epoch * samples, samples);
        std::sort(seen.begin(), seen.end());
        for (std::int64_t i = 0; i < samples; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], i);
      }
    }
  }
}

TEST(Sampler, EpochsAndSeedsDiffer) {
  const Sampler one({.samples = 1000, .batch = 10, .seed = 1});
  const Sampler two({.samples = 1000, .batch = 10, .seed = 2});
  EXPECT_NE(order(one, 0, 1000), order(one, 1000, 1000));
  EXPECT_NE(order(one, 0, 1000), order(two, 0, 1000));
  EXPECT_EQ(order(one, 0, 1000), order(Sampler({.samples = 1000, .batch = 10, .seed = 1}), 0, 1000));
}

TEST(Sampler, AnyPositionAloneIsAsInTheRunThrough) {
  for (const auto& options : {SamplerOptions{.samples = 101, .batch = 10}, blocks_of_7(101, 10),
                              blocks_of_7(101, 10, LastBatch::drop)}) {
    const Sampler sampler(options);
    const auto through = order(sampler, 0, 350);
    for (std::int64_t i = 0; i < 350; ++i) {
      ASSERT_EQ(order(sampler, i, 1).front(), through[static_cast<std::size_t>(i)]);
    }
    EXPECT_EQ(order(sampler, 95, 30), std::vector<std::int64_t>(through.begin() + 95, through.begin() + 125));
  }
}

TEST(Sampler, DropLeavesTheRaggedEndJoinFillsItFromTheNextEpoch) {
  const Sampler drop({.samples = 103, .batch = 10, .last_batch = LastBatch::drop});
  EXPECT_EQ(drop.epochs().length, 100);
  EXPECT_EQ(drop.epochs().steps_for(12), 120);
  EXPECT_EQ(drop.epochs().of(99), 0);
  EXPECT_EQ(drop.epochs().of(100), 1);
  const auto first = order(drop, 0, 100);
  EXPECT_EQ(std::set<std::int64_t>(first.begin(), first.end()).size(), 100u);

  const Sampler join({.samples = 103, .batch = 10, .last_batch = LastBatch::join});
  EXPECT_EQ(join.epochs().length, 103);
  EXPECT_EQ(join.epochs().steps_for(1), 11);
  EXPECT_EQ(join.epochs().steps_for(12), 124);  // 1236 samples
  EXPECT_EQ(join.epochs().of(102), 0);
  EXPECT_EQ(join.epochs().of(103), 1);
  // Both use the same permutation; drop truncates it.
  EXPECT_EQ(order(join, 0, 100), first);
}

TEST(Sampler, BlocksAreReadInAWindowAtATime) {
  const auto options = blocks_of_7(1000, 10);
  const Sampler sampler(options);
  for (std::int64_t position = 0; position < 2000;) {
    const auto window = sampler.window_at(position);
    ASSERT_EQ(window.first, position);
    ASSERT_LE(window.end - window.first, sampler.window_samples());
    std::set<std::int64_t> blocks;
    for (const auto index : order(sampler, position, window.end - position)) blocks.insert(index / 7);
    EXPECT_LE(blocks.size(), 3u);
    for (std::int64_t i = window.first; i < window.end; ++i)
      ASSERT_EQ(sampler.window_at(i).first, window.first);
    position = window.end;
  }
}

TEST(Sampler, WithinAWindowSamplesAreShuffled) {
  // A window has 3 blocks of 7: the i-th sample comes from each of them with probability 1/3.
  const Sampler sampler(blocks_of_7(21 * 4000, 10));
  int first_block_first = 0;
  for (std::int64_t window = 0; window < 4000; ++window) {
    const auto indices = order(sampler, window * 21, 21);
    std::vector<std::int64_t> blocks;
    for (const auto index : indices) blocks.push_back(index / 7);
    std::sort(blocks.begin(), blocks.end());
    first_block_first += indices[0] / 7 == blocks[0];
  }
  EXPECT_NEAR(first_block_first / 4000.0, 1 / 3.0, 4 * std::sqrt(2.0 / 9 / 4000));
}

TEST(Sampler, ABatchLargerThanTheDataIsRefused) {
  EXPECT_TRUE(test::says(test::refusal_of([] { Sampler({.samples = 100, .batch = 256}); }),
                         errors::too_little_data, {"data.batch", "256", "the 100"}));
  EXPECT_TRUE(test::says(test::refusal_of([] { Sampler({.samples = 100, .batch = 0}); }), errors::bad_value,
                         {"data.batch", "0", "least 1"}));
}

TEST(Share, RanksTakeContiguousPartsThatDifferByOneAtMost) {
  for (int ranks = 1; ranks <= 7; ++ranks) {
    std::int64_t next = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const Share share = share_of(23, rank, ranks);
      EXPECT_EQ(share.first, next);
      EXPECT_TRUE(share.count == 23 / ranks || share.count == 23 / ranks + 1);
      next += share.count;
    }
    EXPECT_EQ(next, 23);
  }
}

TEST(Share, MoreRanksThanSamplesInABatchAreRefused) {
  EXPECT_TRUE(test::says(test::refusal_of([] { (void)batch_share(3, 0, 4); }), errors::wrong_rank_count,
                         {"data.batch", "3", "the 4", "most 3"}));
}

TEST(Share, MicroBatchesCoverTheShare) {
  EXPECT_EQ(micro_batch_samples(64, 0), 64);
  EXPECT_EQ(micro_batch_count(64, 0), 1);
  EXPECT_EQ(micro_batch_samples(64, 24), 24);
  EXPECT_EQ(micro_batch_count(64, 24), 3);
  EXPECT_EQ(micro_batch_samples(10, 24), 10);
}

}  // namespace mylos::sampler_test
