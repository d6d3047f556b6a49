#include "mylos/data/feed/loader.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <thread>

#include "data/digest_builders.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/data/feed/evaluation_reader.hpp"
#include "support/allocation_counter.hpp"
#include "support/said.hpp"

namespace mylos::loader_test {

using namespace testing_support;

Sampler sampler_for(std::int64_t samples, std::int64_t batch, Shuffle shuffle,
                    LastBatch last_batch = LastBatch::join) {
  return Sampler({.samples = samples,
                  .batch = batch,
                  .seed = 5,
                  .shuffle = shuffle,
                  .last_batch = last_batch,
                  .block_samples = 16,
                  .window_blocks = 3});
}

std::int64_t index_at(const Sampler& sampler, std::int64_t position) {
  std::int64_t index = 0;
  sampler.indices_at(position, {&index, 1});
  return index;
}

float input_at(const Batch& batch, std::int64_t element) {
  return dispatch(batch.type, [&](auto tag) {
    return to_float(static_cast<const typename decltype(tag)::type*>(batch.inputs)[element]);
  });
}

/// Checks that the batch holds the sampler's samples, rounded to its type.
void expect_images(const Batch& batch, const Sampler& sampler, Split split, std::int64_t features,
                   std::int64_t classes, const Normalizer& normalizer) {
  for (std::int64_t i = 0; i < batch.samples; ++i) {
    const std::int64_t position = batch.step * sampler.options().batch + batch.first_sample + i;
    const std::int64_t index = split.first + index_at(sampler, position);
    ASSERT_EQ(batch.labels[i], label_of(index, classes));
    for (std::int64_t j = 0; j < features; ++j) {
      double expected = pixel(index, j);
      if (!normalizer.inputs.identity()) {
        const auto column = static_cast<std::size_t>(j);
        expected =
            (expected - double{normalizer.inputs.shift[column]}) * double{normalizer.inputs.scale[column]};
      }
      const double unit = batch.type == DType::bf16   ? unit_roundoff<bfloat16>
                          : batch.type == DType::fp16 ? unit_roundoff<half>
                                                      : 4 * unit_roundoff<float>;
      ASSERT_NEAR(input_at(batch, i * features + j), expected, (unit + 1e-6) * std::abs(expected) + 1e-6);
    }
  }
}

TEST(Loader, GivesTheSamplersSamplesInBothShufflesTypesAndEnds) {
  const TemporaryFolder folder;
  const Dataset dataset(write_images(folder / "a.h5", 150, 9, 10));
  const Split split{10, 131};  // at neither end of the file
  for (const auto shuffle : {Shuffle::samples, Shuffle::blocks}) {
    for (const auto last_batch : {LastBatch::drop, LastBatch::join}) {
      for (const auto type : {DType::fp32, DType::bf16, DType::fp16}) {
        const auto sampler = sampler_for(split.count, 20, shuffle, last_batch);
        const auto normalizer = normalizer_for(Normalize::standard, dataset, {0, dataset.samples()});
        Loader loader(dataset, split, sampler, normalizer, {.type = type});
        for (std::int64_t step = 0; step < 30; ++step) {
          const Batch& batch = loader.next();
          ASSERT_EQ(batch.step, step);
          ASSERT_EQ(batch.samples, 20);
          expect_images(batch, sampler, split, 9, 10, normalizer);
        }
      }
    }
  }
}

TEST(Loader, EveryNumberOfRanksAndMicroBatchesSeesTheSameGlobalBatches) {
  const TemporaryFolder folder;
  const Dataset dataset(write_images(folder / "a.h5", 150, 3, 10));
  const Split split{0, 150};
  for (const auto shuffle : {Shuffle::samples, Shuffle::blocks}) {
    const auto sampler = sampler_for(150, 17, shuffle);
    for (int ranks = 1; ranks <= 5; ++ranks) {
      for (const std::int64_t micro_batch : {0, 3}) {
        std::map<std::int64_t, int> seen;  // position -> count
        for (int rank = 0; rank < ranks; ++rank) {
          Loader loader(dataset, split, sampler, {},
                        {.type = DType::fp32, .micro_batch = micro_batch, .rank = rank, .ranks = ranks});
          const Share share = batch_share(17, rank, ranks);
          for (std::int64_t i = 0; i < 12 * micro_batch_count(share.count, micro_batch); ++i) {
            const Batch& batch = loader.next();
            ASSERT_LE(batch.samples, micro_batch_samples(share.count, micro_batch));
            expect_images(batch, sampler, split, 3, 10, {});
            for (std::int64_t j = 0; j < batch.samples; ++j) ++seen[batch.step * 17 + batch.first_sample + j];
          }
        }
        ASSERT_EQ(seen.size(), 12u * 17);
        ASSERT_EQ(seen.rbegin()->first, 12 * 17 - 1);
      }
    }
  }
}

TEST(Loader, ASeekGoesOnAsTheRunThrough) {
  const TemporaryFolder folder;
  const Dataset dataset(write_images(folder / "a.h5", 100, 3, 100));
  for (const auto shuffle : {Shuffle::samples, Shuffle::blocks}) {
    const auto sampler = sampler_for(100, 12, shuffle);
    Loader loader(dataset, {0, 100}, sampler, {}, {});
    std::vector<std::vector<std::int32_t>> through;
    for (int step = 0; step < 40; ++step) {
      const Batch& batch = loader.next();
      through.emplace_back(batch.labels, batch.labels + batch.samples);
    }
    for (const int step : {0, 7, 8, 9, 33}) {
      loader.seek(step * 12);
      Loader restarted(dataset, {0, 100}, sampler, {}, {.first_position = step * 12});
      for (int i = step; i < std::min(step + 5, 40); ++i) {
        for (auto* reader : {&loader, &restarted}) {
          const Batch& batch = reader->next();
          EXPECT_EQ(batch.step, i);
          EXPECT_EQ(std::vector<std::int32_t>(batch.labels, batch.labels + batch.samples),
                    through[static_cast<std::size_t>(i)]);
        }
      }
    }
  }
}

TEST(Loader, ABatchStaysUntilTheSecondOneAfterIt) {
  const TemporaryFolder folder;
  const Dataset dataset(write_images(folder / "a.h5", 100, 3, 100));
  const auto sampler = sampler_for(100, 10, Shuffle::samples);
  Loader loader(dataset, {0, 100}, sampler, {}, {});
  const Batch* before = &loader.next();
  for (int i = 0; i < 50; ++i) {
    const Batch* now = &loader.next();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    expect_images(*before, sampler, {0, 100}, 3, 100, {});
    before = now;
  }
}

TEST(Loader, RegressionTargetsAreNormalisedAndComeBack) {
  const TemporaryFolder folder;
  const Dataset dataset(write_table(folder / "a.h5", 128, 3, 2));
  const auto sampler = sampler_for(128, 10, Shuffle::blocks);
  const auto normalizer = normalizer_for(Normalize::standard, dataset, {0, dataset.samples()});
  Loader loader(dataset, {0, 128}, sampler, normalizer, {});
  for (int step = 0; step < 20; ++step) {
    const Batch& batch = loader.next();
    EXPECT_EQ(batch.labels, nullptr);
    std::vector<float> targets(batch.targets, batch.targets + 20);
    EXPECT_LT(std::abs(targets[0]), 3);
    normalizer.undo_targets(targets);
    for (std::int64_t i = 0; i < 10; ++i) {
      const auto index = index_at(sampler, step * 10 + i);
      EXPECT_NEAR(targets[static_cast<std::size_t>(2 * i)], measured(index, 3), 1e-4);
      EXPECT_NEAR(targets[static_cast<std::size_t>(2 * i + 1)], measured(index, 4), 1e-4);
    }
  }
}

TEST(Loader, SteadyStateAllocatesNothing) {
  const TemporaryFolder folder;
  for (const auto shuffle : {Shuffle::samples, Shuffle::blocks}) {
    const Dataset dataset(prepared_images(folder / "a.h5"));  // also while blocks are read for the first time
    const auto sampler = sampler_for(1000, 10, shuffle);
    const auto normalizer = normalizer_for(Normalize::standard, dataset, {0, dataset.samples()});
    Loader loader(dataset, {0, 1000}, sampler, normalizer, {.type = DType::bf16});
    for (int step = 0; step < 20; ++step) (void)loader.next();
    const long before = allocations();
    for (int step = 0; step < 500; ++step) (void)loader.next();
    EXPECT_EQ(allocations() - before, 0) << (shuffle == Shuffle::blocks ? "blocks" : "samples");
  }
}

/// Reads until an error occurs; returns its message without the file's name.
std::string reading_error(const std::string& path, DType type, Shuffle shuffle,
                          const Normalizer& normalizer = {}, const AugmentOptions& augment = {},
                          const std::vector<std::int64_t>& grid = {}) {
  const Dataset dataset(path);
  Loader loader(dataset, {0, dataset.samples()}, sampler_for(dataset.samples(), 10, shuffle), normalizer,
                {.type = type, .augment = augment, .grid = grid});
  const std::string message = test::refusal_of([&] {
    for (int step = 0; step < 100; ++step) (void)loader.next();
  });
  EXPECT_TRUE(message.starts_with(path + ": ")) << message;
  return message.substr(path.size() + 2);
}

TEST(Loader, AValueThatPrepareDidNotSeeIsNamedByFileRowAndColumn) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  const auto make = [&](const std::string& change) {
    python("import h5py, numpy as n\nf = h5py.File('" + path +
           "', 'w')\nx = n.ones((100, 4), 'f4')\ny = n.zeros(100, 'i4')\nt = n.ones((100, 2), 'f4')\n" +
           change +
           "\nf['inputs'] = x\nf.attrs['classes'] = 10\n"
           "if t is None: f['labels'] = y\nelse: f['targets'] = t\n");
    return path;
  };
  for (const auto shuffle : {Shuffle::samples, Shuffle::blocks}) {
    EXPECT_TRUE(test::says(reading_error(make("x[57, 2] = n.nan; t = None"), DType::bf16, shuffle),
                           errors::not_finite, {"/inputs", "row 57", "column 2"}));
    EXPECT_TRUE(test::says(reading_error(make("x[3, 0] = -n.inf"), DType::fp32, shuffle), errors::not_finite,
                           {"/inputs", "row 3", "column 0"}));
    EXPECT_TRUE(test::says(reading_error(make("t[99, 1] = n.nan"), DType::fp32, shuffle), errors::not_finite,
                           {"/targets", "row 99", "column 1"}));
    EXPECT_TRUE(test::says(reading_error(make("y[42] = 10; t = None"), DType::fp32, shuffle),
                           errors::bad_label, {"/labels", "row 42", "is 10", "expected 0", "to 9"}));
    EXPECT_TRUE(test::says(reading_error(make("y[41] = -1; t = None"), DType::fp32, shuffle),
                           errors::bad_label, {"/labels", "row 41", "is -1", "expected 0", "to 9"}));
    EXPECT_TRUE(test::says(reading_error(make("x[9, 3] = 65520"), DType::fp16, shuffle), errors::not_finite,
                           {"/inputs", "row 9", "column 3", "is 65520", "16"}));
    Normalizer narrow;  // of training samples from 0 to 1
    narrow.inputs = {{0, 0, 0, 0}, {1e3, 1e3, 1e3, 1e3}};
    EXPECT_TRUE(test::says(reading_error(make("x[9, 3] = 200"), DType::fp16, shuffle, narrow),
                           errors::not_finite, {"/inputs", "row 9", "column 3", "is 200", "200000", "16"}));
    for (int column = 0; column < 4; ++column) {
      const AugmentOptions moves{.shift = 1, .rotate = true, .flip_horizontal = true};
      EXPECT_TRUE(test::says(reading_error(make(fmt::format("x[9, {}] = n.nan", column)), DType::bf16,
                                           shuffle, {}, moves, {2, 2, 1}),
                             errors::not_finite,
                             {"/inputs", "row 9", fmt::format("column {}", column), "is nan"}));
    }
  }
}

TEST(Loader, BatchesBeforeTheWrongOneAreGivenAndTheErrorStays) {
  const TemporaryFolder folder;
  const std::string path = write_images(folder / "a.h5", 100, 3, 10);
  python("import h5py\nf = h5py.File('" + path + "', 'r+')\nf['labels'][50] = 99");
  const Dataset dataset(path);
  const auto sampler = sampler_for(100, 10, Shuffle::samples);
  std::int64_t wrong_step = 0;
  while (true) {
    std::vector<std::int64_t> indices(10);
    sampler.indices_at(wrong_step * 10, indices);
    if (std::find(indices.begin(), indices.end(), 50) != indices.end()) break;
    ++wrong_step;
  }
  Loader loader(dataset, {0, 100}, sampler, {}, {});
  for (std::int64_t step = 0; step < wrong_step; ++step) EXPECT_EQ(loader.next().step, step);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(test::says(test::refusal_of([&] { (void)loader.next(); }), errors::bad_label,
                           {path, "/labels", "row 50", "is 99", "expected 0", "to 9"}));
  }
  loader.seek(0);
  if (wrong_step > 0) {
    EXPECT_EQ(loader.next().step, 0);
  }
}

TEST(Loader, MoreRanksThanSamplesInABatchAreRefused) {
  const TemporaryFolder folder;
  const Dataset dataset(write_images(folder / "a.h5", 100, 3, 10));
  EXPECT_TRUE(test::says(
      test::refusal_of([&] {
        Loader(dataset, {0, 100}, sampler_for(100, 3, Shuffle::samples), {}, {.rank = 0, .ranks = 4});
      }),
      errors::wrong_rank_count, {"data.batch", "3", "the 4", "most 3"}));
}

TEST(EvaluationReader, InputsAloneGiveTheInputsThatTheyGiveWithTargets) {
  const TemporaryFolder folder;
  const Dataset whole(write_table(folder / "whole.h5", 11, 3, 2));
  const std::string path = folder / "inputs.h5";
  {
    std::vector<float> values(33);
    whole.read_inputs(0, 11, values.data());
    auto file = hdf5::File::create(path);
    file.create_dataset("/inputs", DType::fp32, {11, 3}).write(0, 33, values.data());
    file.close();
  }
  const Dataset alone(path, GroundTruth::optional);
  const auto normalizer = normalizer_for(Normalize::standard, whole, {0, whole.samples()});  // of targets too
  EvaluationReader expected(whole, {0, 11}, normalizer, {.max_samples = 4});
  EvaluationReader reader(alone, {0, 11}, normalizer, {.max_samples = 4});
  while (const Batch* batch = reader.next()) {
    const Batch& other = *expected.next();
    EXPECT_EQ(batch->labels, nullptr);
    EXPECT_EQ(batch->targets, nullptr);
    ASSERT_EQ(batch->samples, other.samples);
    for (std::int64_t i = 0; i < batch->samples * 3; ++i) EXPECT_EQ(input_at(*batch, i), input_at(other, i));
  }
  EXPECT_EQ(expected.next(), nullptr);
}

TEST(EvaluationReader, RanksCoverTheSplitOnceInOrder) {
  const TemporaryFolder folder;
  const Dataset dataset(write_images(folder / "a.h5", 50, 2, 50));
  const Split split{7, 23};
  for (const int ranks : {1, 2, 3, 5, 30}) {
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<std::int32_t> labels;
      for (int rank = 0; rank < ranks; ++rank) {
        EvaluationReader reader(dataset, split, {}, {.max_samples = 4, .rank = rank, .ranks = ranks});
        for (int i = 0; i < pass && reader.next(); ++i) {
        }
        reader.rewind();
        while (const Batch* batch = reader.next()) {
          EXPECT_LE(batch->samples, 4);
          EXPECT_EQ(batch->first_sample, static_cast<std::int64_t>(labels.size()));
          EXPECT_EQ(input_at(*batch, 1), pixel(split.first + batch->first_sample, 1));
          labels.insert(labels.end(), batch->labels, batch->labels + batch->samples);
        }
      }
      ASSERT_EQ(labels.size(), 23u);
      for (std::size_t i = 0; i < 23; ++i) EXPECT_EQ(labels[i], static_cast<std::int32_t>(7 + i));
    }
  }
}

}  // namespace mylos::loader_test
