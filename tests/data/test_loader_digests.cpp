// The loaders of samples and tokens on files with digests of blocks.
#include <gtest/gtest.h>

#include "data/digest_builders.hpp"
#include "mylos/data/feed/loader.hpp"
#include "mylos/data/tokens/token_loader.hpp"
#include "support/said.hpp"

namespace mylos::loader_digests_test {

using namespace testing_support;

Sampler sampler_for(std::int64_t samples, Shuffle shuffle) {
  return Sampler({.samples = samples,
                  .batch = 20,
                  .seed = 5,
                  .shuffle = shuffle,
                  .last_batch = LastBatch::join,
                  .block_samples = 16,
                  .window_blocks = 3});
}

TokenSampler token_sampler() {
  return TokenSampler({.tokens = counted_tokens, .context = 7, .batch = 11, .seed = 5});
}

/// Reads until an error occurs.
std::string reading_error(BatchReader& loader) {
  return test::refusal_of([&] {
    for (int step = 0; step < 100; ++step) (void)loader.next();
  });
}

TEST(LoaderDigests, ABlockOfSamplesThatWasChangedIsNamedByFileAndRows) {
  const TemporaryFolder folder;
  const std::string inputs = prepared_images(folder / "inputs.h5");
  edit(inputs, "f['inputs'][500, 3] ^= 1");
  const std::string labels = prepared_images(folder / "labels.h5");
  edit(labels, "f['labels'][999] = 0");
  for (const auto shuffle : {Shuffle::samples, Shuffle::blocks}) {
    const auto said = [&](const std::string& path) {
      const Dataset dataset(path);
      Loader loader(dataset, {0, 1000}, sampler_for(1000, shuffle), {}, {.type = DType::bf16});
      return reading_error(loader);
    };
    EXPECT_TRUE(says_changed(said(inputs), inputs, "a value of /inputs in rows 465 to 557 (counted from 0)"));
    EXPECT_TRUE(says_changed(said(labels), labels, "a value of /labels in rows 930 to 999 (counted from 0)"));
  }
}

TEST(LoaderDigests, BatchesAreThoseOfAFileWithoutThem) {
  const TemporaryFolder folder;
  const std::string path = prepared_images(folder / "a.h5");
  const Split split{10, 931};  // at neither end of the file, nor of a block
  for (const auto shuffle : {Shuffle::samples, Shuffle::blocks}) {
    for (int rank = 0; rank < 3; ++rank) {
      const Dataset compared(path);
      const Dataset as_it_is(path, GroundTruth::required, Digests::ignored);
      const auto sampler = sampler_for(split.count, shuffle);
      Loader loader(compared, split, sampler, {}, {.rank = rank, .ranks = 3});
      Loader other(as_it_is, split, sampler, {}, {.rank = rank, .ranks = 3});
      for (int step = 0; step < 100; ++step) {
        const Batch& batch = loader.next();
        const Batch& expected = other.next();
        ASSERT_EQ(batch.samples, expected.samples);
        const auto* inputs = static_cast<const float*>(batch.inputs);
        ASSERT_TRUE(std::equal(inputs, inputs + batch.samples * wide_features,
                               static_cast<const float*>(expected.inputs)));
        ASSERT_TRUE(std::equal(batch.labels, batch.labels + batch.samples, expected.labels));
      }
    }
  }
}

TEST(LoaderDigests, ABlockOfTokensThatWasChangedIsNamedByFileAndRows) {
  const TemporaryFolder folder;
  const std::string path = prepared_tokens(folder / "a.h5");
  for (const bool in_memory : {true, false}) {
    const TokenDataset sound(path);
    TokenLoader loader(sound, {0, counted_tokens}, token_sampler(), {.in_memory = in_memory});
    for (int step = 0; step < 50; ++step) (void)windows_of(loader.next(), 7);
  }
  edit(path, "f['tokens'][40000] = 7");
  for (const bool in_memory : {true, false}) {
    const TokenDataset changed(path);
    TokenLoader loader(changed, {0, counted_tokens}, token_sampler(), {.in_memory = in_memory});
    EXPECT_TRUE(says_changed(reading_error(loader), path,
                             "a value of /tokens in rows 32768 to 49999 (counted from 0)"));
  }
}

}  // namespace mylos::loader_digests_test
