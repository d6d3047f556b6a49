#include "mylos/data/feed/augmentation.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "data/builders.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/feed/loader.hpp"
#include "mylos/data/feed/share.hpp"
#include "support/allocation_counter.hpp"
#include "support/said.hpp"

namespace mylos::augmentation_test {

using namespace testing_support;

/// numpy's own pad, roll, rot90 and flip, with the words of an independent generator: moved(x, options, step,
/// sample) of an array [extents ..., channels].
const std::string oracle =
    "import sys, numpy as n, h5py\n"
    "sys.path.insert(0, '" MYLOS_SOURCE_DIR
    "/tests/apps/reference')\n"
    "from random_numbers import Stream\n"
    "modes = {'zero': dict(mode='constant'), 'edge': dict(mode='edge'), 'reflect': dict(mode='reflect')}\n"
    "def moved(x, step, sample, crop=0, fill='zero', shift=0, rotate=0, across=0, down=0):\n"
    "    stream = Stream(5, 7, 'data.augment')\n"
    "    w = [int(v) for v in stream.block(step, sample, 0)]\n"
    "    v = [int(v) for v in stream.block(step, sample, 1)]\n"
    "    axes = x.ndim - 1\n"
    "    if crop:\n"
    "        y = n.pad(x, [(crop, crop)] * axes + [(0, 0)], **modes[fill])\n"
    "        cut = [w[a] * (2 * crop + 1) >> 32 for a in range(axes)]\n"
    "        x = y[tuple(slice(c, c + e) for c, e in zip(cut, x.shape))]\n"
    "    if shift:\n"
    "        by = [(v[a] * (2 * shift + 1) >> 32) - shift for a in range(axes)]\n"
    "        x = n.roll(x, by, axis=tuple(range(axes)))\n"
    "    if rotate: x = n.rot90(x, w[3] & 3, axes=(axes - 2, axes - 1))\n"
    "    if across and w[3] & 4: x = n.flip(x, axes - 1)\n"
    "    if down and w[3] & 8: x = n.flip(x, axes - 2)\n"
    "    return x\n";

/// Compares samples of one grid, at three steps and two positions in the batch, with the oracle.
void expect_as_numpy(const AugmentOptions& options, const std::vector<std::int64_t>& grid, DType type,
                     const std::string& arguments) {
  const TemporaryFolder folder;
  DatasetShape shape{.task = Task::classification, .input_type = type, .samples = 1, .outputs = 2};
  shape.features = 1;
  for (const std::int64_t extent : grid) shape.features *= extent;
  std::string stored = random_bytes(static_cast<std::size_t>(shape.input_bytes()));
  Augmentation augmentation(options, shape, grid, 5);
  std::string all = stored;
  const std::int32_t label = 1;
  for (const std::int64_t step : std::vector<std::int64_t>{0, 1, 7'000'000'000}) {
    for (const std::int64_t sample : {0, 41}) {
      const auto moved = augmentation.moved(
          {reinterpret_cast<const std::byte*>(stored.data()), reinterpret_cast<const std::byte*>(&label)},
          step, sample);
      all.append(reinterpret_cast<const char*>(moved.input), stored.size());
      EXPECT_EQ(moved.truth, reinterpret_cast<const std::byte*>(&label));
    }
  }
  write_file(folder / "all", all);
  EXPECT_EQ(python(oracle +
                   fmt::format(
                       "all = n.fromfile('{}', '{}').reshape(7, {})\nx, seen = all[0], list(all[1:])\n"
                       "for step in (0, 1, 7000000000):\n    for sample in (0, 41):\n"
                       "        if not n.array_equal(seen.pop(0), moved(x, step, sample, {})): "
                       "print(step, sample)\n",
                       folder / "all", type == DType::uint8 ? "u1" : "u4", fmt::join(grid, ", "), arguments)),
            "")
      << arguments << " on " << fmt::format("{}", fmt::join(grid, " x "));
}

TEST(Augmentation, EachWayIsWhatNumpyDoesWithTheSameWords) {
  for (const DType type : {DType::uint8, DType::fp32}) {
    for (const auto& grid : std::vector<std::vector<std::int64_t>>{{6, 9, 3}, {11, 2}, {4, 5, 6, 1}}) {
      expect_as_numpy({.crop = 2}, grid, type, "crop=2");
      expect_as_numpy({.crop = 3, .crop_fill = CropFill::edge}, grid, type, "crop=3, fill='edge'");
      expect_as_numpy({.crop = 3, .crop_fill = CropFill::reflect}, grid, type, "crop=3, fill='reflect'");
      expect_as_numpy({.shift = 3}, grid, type, "shift=3");
      expect_as_numpy({.flip_horizontal = true}, grid, type, "across=1");
      if (grid.size() > 2) expect_as_numpy({.flip_vertical = true}, grid, type, "down=1");
    }
    for (const auto& grid : std::vector<std::vector<std::int64_t>>{{5, 5, 3}, {3, 4, 4, 2}}) {
      expect_as_numpy({.rotate = true}, grid, type, "rotate=1");
      expect_as_numpy({.crop = 2,
                       .crop_fill = CropFill::edge,
                       .shift = 2,
                       .rotate = true,
                       .flip_horizontal = true,
                       .flip_vertical = true},
                      grid, type, "crop=2, fill='edge', shift=2, rotate=1, across=1, down=1");
    }
  }
}

TEST(Augmentation, AllChoicesOccurAboutAsOften) {
  const DatasetShape shape{.task = Task::none, .input_type = DType::uint8, .samples = 1, .features = 25};
  const auto counts_of = [&](const AugmentOptions& options) {
    Augmentation augmentation(options, shape, {5, 5, 1}, 5);
    std::string stored(25, '\0');
    for (std::size_t i = 0; i < 25; ++i) stored[i] = static_cast<char>(i + 1);
    std::map<std::string, int> seen;
    for (std::int64_t sample = 0; sample < 4000; ++sample) {
      const auto moved =
          augmentation.moved({reinterpret_cast<const std::byte*>(stored.data()), nullptr}, 3, sample);
      ++seen[std::string(reinterpret_cast<const char*>(moved.input), 25)];
    }
    return seen;
  };
  // 4000 draws with probabilities 1/9 and 1/8 (the square's symmetries, each from two of 16 words), within 5
  // deviations.
  for (const auto& [options, ways] :
       {std::pair{AugmentOptions{.crop = 1}, 9},
        {AugmentOptions{.shift = 1}, 9},
        {AugmentOptions{.rotate = true, .flip_horizontal = true, .flip_vertical = true}, 8}}) {
    const auto seen = counts_of(options);
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(ways));
    for (const auto& [way, count] : seen) EXPECT_NEAR(count, 4000 / ways, 5 * std::sqrt(4000.0 / ways));
  }
}

TEST(Augmentation, TargetsOnTheGridMoveWithTheInputsOthersStay) {
  const TemporaryFolder folder;
  std::vector<float> input(16), truth(32);
  for (std::size_t i = 0; i < 16; ++i) input[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < 32; ++i)
    truth[i] = static_cast<float>(i / 2);  // the targets of a point have its input's value
  const auto move = [&](std::int64_t outputs, AugmentTargets targets) {
    const DatasetShape shape{.task = Task::regression, .samples = 1, .features = 16, .outputs = outputs};
    Augmentation augmentation({.shift = 2, .rotate = true, .targets = targets}, shape, {4, 4, 1}, 5);
    const auto moved = augmentation.moved(
        {reinterpret_cast<const std::byte*>(input.data()), reinterpret_cast<const std::byte*>(truth.data())},
        1, 2);
    std::pair<std::vector<float>, std::vector<float>> result{
        std::vector<float>(16), std::vector<float>(static_cast<std::size_t>(outputs))};
    std::memcpy(result.first.data(), moved.input, 64);
    std::memcpy(result.second.data(), moved.truth, static_cast<std::size_t>(4 * outputs));
    return result;
  };
  const auto [inputs, targets] = move(32, AugmentTargets::automatic);
  EXPECT_NE(inputs, input);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(targets[i], inputs[i / 2]);
  EXPECT_EQ(move(32, AugmentTargets::move).second, targets);
  EXPECT_EQ(move(32, AugmentTargets::keep).second, truth);
  EXPECT_EQ(move(3, AugmentTargets::automatic).second, (std::vector<float>{0, 0, 1}));
}

TEST(Augmentation, KnowsWhereTheSampleHasAValue) {
  std::vector<float> input(36), truth(18);
  for (std::size_t i = 0; i < 36; ++i) input[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < 18; ++i) truth[i] = static_cast<float>(i);
  const DatasetShape shape{.task = Task::regression, .samples = 1, .features = 36, .outputs = 18};
  const AugmentOptions options{
      .crop = 1, .shift = 2, .rotate = true, .flip_horizontal = true, .flip_vertical = true};
  Augmentation augmentation(options, shape, {3, 3, 4}, 5);
  for (std::int64_t sample = 0; sample < 40; ++sample) {
    const auto moved = augmentation.moved(
        {reinterpret_cast<const std::byte*>(input.data()), reinterpret_cast<const std::byte*>(truth.data())},
        1, sample);
    const auto* const x = reinterpret_cast<const float*>(moved.input);
    const auto* const y = reinterpret_cast<const float*>(moved.truth);
    for (std::int64_t i = 0; i < 36; ++i) {
      if (x[i] != 0) {
        EXPECT_EQ(augmentation.stored_input(i), static_cast<std::int64_t>(x[i]));
      }
    }
    for (std::int64_t i = 0; i < 18; ++i) {
      if (y[i] != 0) {
        EXPECT_EQ(augmentation.stored_target(i), static_cast<std::int64_t>(y[i]));
      }
    }
  }
}

TEST(Augmentation, WhatTheSamplesCannotGiveIsRefused) {
  const auto refusal = [](const AugmentOptions& options, const std::vector<std::int64_t>& grid,
                          Task task = Task::classification, std::int64_t outputs = 10) {
    const DatasetShape shape{.task = task, .samples = 1, .features = 120, .outputs = outputs};
    return test::refusal_of([&] { require_augmentable(options, shape, grid, "a.h5"); });
  };
  EXPECT_TRUE(refusal({.crop = 1}, {}).starts_with("a.h5: has no attribute 'shape' of /"));
  const Places places{{"data.augment.shift", "deck.toml:7"}, {"data.augment.crop", "deck.toml:6"}};
  EXPECT_TRUE(test::refusal_of([&] {
                require_augmentable({.shift = 1}, {}, {}, "a.h5", places);
              }).starts_with("deck.toml:7: a.h5: has no attribute 'shape'"));
  EXPECT_TRUE(test::says(refusal({.crop = 1}, {10, 13, 1}), errors::data_mismatch,
                         {"data.augment", "a.h5", "has 120", "is 10 x 13 x 1"}));
  constexpr std::int64_t wide = 268435456;  // 64 bits cannot hold the product of three of them
  EXPECT_TRUE(test::says(refusal({.shift = 1}, {wide, wide, wide, 1}), errors::data_mismatch,
                         {"data.augment", "a.h5", "has 120", "is 268435456 x 268435456 x 268435456 x 1"}));
  const std::string sizes = "; samples of a.h5 are 10 x 12 x 1";
  const std::vector<std::int64_t> grid{10, 12, 1};
  EXPECT_TRUE(test::says(refusal({.crop = 11}, grid), errors::data_mismatch,
                         {"data.augment.crop", "least 11", sizes}));
  EXPECT_TRUE(test::says(refusal({.crop = 10, .crop_fill = CropFill::reflect}, grid), errors::data_mismatch,
                         {"data.augment.crop", "least 11", sizes}));
  EXPECT_TRUE(test::says(refusal({.shift = 10}, grid), errors::data_mismatch,
                         {"data.augment.shift", "above 10", sizes}));
  EXPECT_TRUE(
      test::says(refusal({.rotate = true}, grid), errors::data_mismatch, {"data.augment.rotate", sizes}));
  EXPECT_TRUE(test::says(refusal({.flip_vertical = true}, {60, 2}), errors::data_mismatch,
                         {"data.augment.flip_vertical", "a.h5", "are 60 x 2"}));
  EXPECT_TRUE(test::says(refusal({.shift = 1, .targets = AugmentTargets::move}, grid, Task::regression, 100),
                         errors::data_mismatch, {"data.augment.targets", "s 120", "not 100", sizes}));
  require_augmentable({}, {}, {}, "a.h5");
}

/// Steps of 17 samples, each with its input from the loaders of all ranks.
std::vector<float> seen_by(const Dataset& dataset, int ranks, std::int64_t micro_batch,
                           std::int64_t first_step, Shuffle shuffle = Shuffle::samples) {
  const Sampler sampler({.samples = 150,
                         .batch = 17,
                         .seed = 5,
                         .shuffle = shuffle,
                         .last_batch = LastBatch::join,
                         .block_samples = 16,
                         .window_blocks = 3});
  const AugmentOptions augment{
      .crop = 2, .shift = 1, .rotate = true, .flip_horizontal = true, .flip_vertical = true};
  const Normalizer normalizer = normalizer_for(Normalize::channel, dataset, {0, 150}, {}, 2);
  std::vector<float> all(12 * 17 * 32);
  for (int rank = 0; rank < ranks; ++rank) {
    Loader loader(dataset, {0, 150}, sampler, normalizer,
                  {.micro_batch = micro_batch,
                   .rank = rank,
                   .ranks = ranks,
                   .first_position = 17 * first_step,
                   .augment = augment,
                   .grid = {4, 4, 2}});
    const Share share = batch_share(17, rank, ranks);
    for (std::int64_t i = 0; i < (12 - first_step) * micro_batch_count(share.count, micro_batch); ++i) {
      const Batch& batch = loader.next();
      std::copy_n(static_cast<const float*>(batch.inputs), batch.samples * 32,
                  all.begin() + (batch.step * 17 + batch.first_sample) * 32);
    }
  }
  return all;
}

TEST(Augmentation, LoadersOfAnyRanksMicroBatchesAndRestartsGiveTheSameBits) {
  const TemporaryFolder folder;
  const Dataset dataset(write_images(folder / "a.h5", 150, 32, 10));
  const std::vector<float> all = seen_by(dataset, 1, 0, 0);
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (const std::int64_t micro_batch : {0, 3}) EXPECT_EQ(seen_by(dataset, ranks, micro_batch, 0), all);
  }
  for (const std::int64_t step : {1, 7}) {
    const std::vector<float> rest = seen_by(dataset, 2, 3, step);
    EXPECT_TRUE(std::equal(all.begin() + step * 17 * 32, all.end(), rest.begin() + step * 17 * 32));
  }
  EXPECT_NE(seen_by(dataset, 1, 0, 0, Shuffle::blocks), all);
  EXPECT_EQ(seen_by(dataset, 3, 2, 0, Shuffle::blocks), seen_by(dataset, 1, 0, 0, Shuffle::blocks));
}

TEST(Augmentation, SteadyStateAllocatesNothing) {
  const TemporaryFolder folder;
  const Dataset dataset(write_images(folder / "a.h5", 150, 32, 10));
  const Sampler sampler({.samples = 150, .batch = 10, .seed = 5});
  const LoaderOptions options{.type = DType::bf16,
                              .augment = {.crop = 2, .shift = 1, .rotate = true, .flip_horizontal = true},
                              .grid = {4, 4, 2}};
  Loader loader(dataset, {0, 150}, sampler, {}, options);
  for (int step = 0; step < 20; ++step) (void)loader.next();
  const long before = allocations();
  for (int step = 0; step < 300; ++step) (void)loader.next();
  EXPECT_EQ(allocations() - before, 0);
  LoaderOptions still = options;
  still.augment = {};
  EXPECT_EQ(Loader::memory_bytes(dataset.shape(), {0, 150}, sampler, options) -
                Loader::memory_bytes(dataset.shape(), {0, 150}, sampler, still),
            32 + 4 + 8 * 8);
}

}  // namespace mylos::augmentation_test
