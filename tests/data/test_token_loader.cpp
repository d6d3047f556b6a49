#include "mylos/data/tokens/token_loader.hpp"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "data/token_builders.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/feed/share.hpp"
#include "mylos/data/tokens/token_evaluation_reader.hpp"
#include "support/allocation_counter.hpp"
#include "support/said.hpp"

namespace mylos::token_loader_test {

using namespace testing_support;

constexpr std::int64_t context = 7;

TokenSampler sampler_for(const Split& split, std::int64_t batch, WindowOrder window) {
  return TokenSampler(
      {.tokens = split.count, .context = context, .batch = batch, .seed = 5, .window = window});
}

TEST(TokenLoader, EveryNumberOfRanksAndMicroBatchesSeesTheSameGlobalBatches) {
  const TemporaryFolder folder;
  const TokenDataset data(write_counting_tokens(folder / "a.h5", 500));
  const Split split{20, 301};  // at neither end of the file
  constexpr std::int64_t batch = 11;
  for (const auto window : {WindowOrder::random, WindowOrder::sequential}) {
    const auto sampler = sampler_for(split, batch, window);
    for (const bool in_memory : {true, false}) {
      for (int ranks = 1; ranks <= 4; ++ranks) {
        for (const std::int64_t micro_batch : {0, 2}) {
          std::map<std::int64_t, std::int64_t> seen;  // position -> first token
          for (int rank = 0; rank < ranks; ++rank) {
            TokenLoader loader(
                data, split, sampler,
                {.micro_batch = micro_batch, .rank = rank, .ranks = ranks, .in_memory = in_memory});
            const Share share = batch_share(batch, rank, ranks);
            for (std::int64_t i = 0; i < 12 * micro_batch_count(share.count, micro_batch); ++i) {
              const Batch& got = loader.next();
              const auto windows = windows_of(got, context);
              ASSERT_LE(got.samples, micro_batch_samples(share.count, micro_batch));
              for (std::size_t j = 0; j < windows.size(); ++j) {
                const std::int64_t position =
                    got.step * batch + got.first_sample + static_cast<std::int64_t>(j);
                EXPECT_TRUE(seen.emplace(position, windows[j]).second);
              }
            }
          }
          ASSERT_EQ(seen.size(), 12u * batch);
          for (const auto& [position, first] : seen) {
            ASSERT_LT(position, 12 * batch);
            ASSERT_EQ(first, split.first + sampler.first_token(position));
            ASSERT_LE(first + context, split.first + split.count - 1);
          }
        }
      }
    }
  }
}

TEST(TokenLoader, ASeekGoesOnAsTheRunThrough) {
  const TemporaryFolder folder;
  const TokenDataset data(write_counting_tokens(folder / "a.h5", 200));
  const Split split{0, 200};
  for (const auto window : {WindowOrder::random, WindowOrder::sequential}) {
    const auto sampler = sampler_for(split, 6, window);
    TokenLoader loader(data, split, sampler, {.micro_batch = 4});
    std::vector<std::vector<std::int64_t>> through;  // two micro-batches per step
    for (int i = 0; i < 80; ++i) through.push_back(windows_of(loader.next(), context));
    for (const int step : {0, 7, 5, 33}) {
      loader.seek(step * 6);
      TokenLoader restarted(data, split, sampler,
                            {.micro_batch = 4, .first_position = step * 6, .in_memory = false});
      for (std::size_t i = 2 * static_cast<std::size_t>(step); i < 2 * static_cast<std::size_t>(step) + 9;
           ++i) {
        EXPECT_EQ(windows_of(loader.next(), context), through[i]);
        EXPECT_EQ(windows_of(restarted.next(), context), through[i]);
      }
    }
  }
}

TEST(TokenLoader, ABatchStaysUntilTheSecondOneAfterIt) {
  const TemporaryFolder folder;
  const TokenDataset data(write_counting_tokens(folder / "a.h5", 200));
  const auto sampler = sampler_for({0, 200}, 4, WindowOrder::sequential);
  TokenLoader loader(data, {0, 200}, sampler, {});
  const Batch* before = &loader.next();
  for (int i = 0; i < 50; ++i) {
    const auto windows = windows_of(*before, context);
    const Batch* now = &loader.next();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    EXPECT_EQ(windows_of(*before, context), windows);
    before = now;
  }
}

TEST(TokenLoader, SteadyStateAllocatesNothing) {
  const TemporaryFolder folder;
  const TokenDataset data(write_counting_tokens(folder / "a.h5", 5000));
  for (const bool in_memory : {true, false}) {
    TokenLoader loader(data, {0, 5000}, sampler_for({0, 5000}, 4, WindowOrder::random),
                       {.in_memory = in_memory});
    for (int step = 0; step < 20; ++step) (void)loader.next();
    const long before = allocations();
    for (int step = 0; step < 500; ++step) (void)loader.next();
    EXPECT_EQ(allocations() - before, 0) << (in_memory ? "in memory" : "from the file");
  }
}

TEST(TokenLoader, ATokenOutsideTheVocabularyIsNamedWithItsPositionInTheFile) {
  const TemporaryFolder folder;
  const Split split{3, 100};
  for (const std::size_t wrong : {3u, 45u, 101u}) {  // the last one is only the last token's label
    std::vector<std::uint8_t> tokens(103, 64);
    tokens[wrong] = 65;
    const TokenDataset data(write_tokens(folder / "a.h5", tokens, 65));
    for (const bool in_memory : {true, false}) {
      TokenLoader loader(data, split, sampler_for(split, 14, WindowOrder::sequential),
                         {.in_memory = in_memory});
      TokenEvaluationReader reader(data, split, context, {.max_samples = 14});
      const auto names_it = [&](const std::string& said) {
        return test::says(said, errors::unknown_token,
                          {data.path(), "/tokens element " + std::to_string(wrong), "is 65", "0 to 64"});
      };
      EXPECT_TRUE(names_it(test::refusal_of([&] { (void)loader.next(); })));
      EXPECT_TRUE(names_it(test::refusal_of([&] { (void)reader.next(); })));
    }
  }
}

TEST(TokenLoader, StatesItsBytes) {
  const TemporaryFolder folder;
  const TokenDataset data(write_counting_tokens(folder / "a.h5", 5000));
  const auto sampler = sampler_for({0, 4000}, 6, WindowOrder::random);
  const auto bytes = [&](const TokenLoaderOptions& options) {
    return TokenLoader::memory_bytes(data, {0, 4000}, sampler, options);
  };
  // Four buffers of int32 tokens and next tokens; the tokens in uint16, or one window of them.
  EXPECT_EQ(bytes({}), 4 * 2 * 6 * context * 4 + 4000 * 2);
  EXPECT_EQ(bytes({.micro_batch = 2, .in_memory = false}), 4 * 2 * 2 * context * 4 + (context + 1) * 2);
}

TEST(TokenLoader, MoreRanksThanWindowsInABatchAreRefused) {
  const TemporaryFolder folder;
  const TokenDataset data(write_counting_tokens(folder / "a.h5", 100));
  EXPECT_TRUE(
      test::says(test::refusal_of([&] {
                   TokenLoader(data, {0, 100}, sampler_for({0, 100}, 3, WindowOrder::random), {.ranks = 4});
                 }),
                 errors::wrong_rank_count, {"data.batch", "3", "the 4", "most 3"}));
}

TEST(TokenEvaluationReader, RanksCoverAllWindowsOnceInOrder) {
  const TemporaryFolder folder;
  const TokenDataset data(write_counting_tokens(folder / "a.h5", 200));
  for (const Split split : {Split{30, 127}, Split{30, 126}, Split{0, 200}}) {
    for (const int ranks : {1, 2, 3, 4, 30}) {
      for (int pass = 0; pass < 2; ++pass) {
        std::vector<std::int64_t> windows;
        for (int rank = 0; rank < ranks; ++rank) {
          TokenEvaluationReader reader(data, split, context,
                                       {.max_samples = 4, .rank = rank, .ranks = ranks});
          for (int i = 0; i < pass && reader.next(); ++i) {
          }
          reader.rewind();
          EvaluationPass& samples = reader;
          while (const Batch* batch = samples.next()) {
            EXPECT_LE(batch->samples, 4);
            EXPECT_EQ(batch->first_sample, static_cast<std::int64_t>(windows.size()));
            for (const std::int64_t first : windows_of(*batch, context)) windows.push_back(first);
          }
        }
        ASSERT_EQ(windows.size(), static_cast<std::size_t>((split.count - 1) / context));
        for (std::size_t i = 0; i < windows.size(); ++i) {
          EXPECT_EQ(windows[i], split.first + static_cast<std::int64_t>(i) * context);
        }
      }
    }
  }
}

TEST(TokenEvaluationReader, TooFewTokensAreRefused) {
  const TemporaryFolder folder;
  const TokenDataset data(write_counting_tokens(folder / "a.h5", 100));
  EXPECT_TRUE(test::says(test::refusal_of([&] {
                           TokenEvaluationReader(data, {90, 7}, context, {});
                         }),
                         errors::too_little_data, {data.path(), "has 7", "model.context", "7", "most 6"}));
}

}  // namespace mylos::token_loader_test
