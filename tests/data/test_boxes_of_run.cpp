// The normalizer of boxes, and the batches of boxes that a run reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/box_builders.hpp"
#include "mylos/data/files/scaling/normalizer_of_box.hpp"
#include "mylos/data/run/run_data.hpp"

namespace mylos::boxes_of_run_test {

using namespace testing_support;

/// Returns n numbers that differ.
std::vector<double> numbers(std::size_t n, double first) {
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(first + static_cast<double>(i));
  return values;
}

TEST(NormalizerOfBox, HasTheColumnsOfTheBox) {
  const Normalizer whole{
      {numbers(48, 1), numbers(48, 2)}, {numbers(72, 3), numbers(72, 4)}, {numbers(2, 5), numbers(2, 6)}};
  for (const GridPart& part : parts_of({1, 2, 3})) {
    const Normalizer box = part_of(whole, {4, 6, 2}, part);
    EXPECT_EQ(box.inputs.shift, numbers_in_box(whole.inputs.shift, {4, 6}, part));
    EXPECT_EQ(box.inputs.scale, numbers_in_box(whole.inputs.scale, {4, 6}, part));
    EXPECT_EQ(box.targets.shift, numbers_in_box(whole.targets.shift, {4, 6}, part));
    EXPECT_EQ(box.targets.scale, numbers_in_box(whole.targets.scale, {4, 6}, part));
    EXPECT_EQ(box.input_range, whole.input_range);
  }
  EXPECT_EQ(part_of(whole, {4, 6, 2}, {}), whole);
  const Normalizer none{{}, {}, {numbers(4, 5), numbers(4, 6)}};
  EXPECT_EQ(part_of(none, {2, 2, 4}, {{1, 2, 1}, {0, 1, 0}}), none);  // as many channels as points
}

/// The extents of a grid, and the channels of its samples and targets.
struct Sizes {
  std::vector<std::int64_t> grid;
  std::int64_t inputs = 1;
  std::int64_t targets = 1;
};

void expect_box(const Batch& box, const Batch& whole, const Sizes& sizes, const GridPart& part) {
  ASSERT_EQ(box.samples, whole.samples);
  EXPECT_EQ(box.first_sample, whole.first_sample);
  EXPECT_EQ(box.step, whole.step);
  std::int64_t points = 1;
  for (const std::int64_t extent : sizes.grid) points *= extent;
  const auto compare = [&](const float* of_box, const float* of_whole, std::int64_t columns) {
    for (std::int64_t i = 0; i < box.samples; ++i) {
      const std::vector<float> sample(of_whole + i * columns, of_whole + (i + 1) * columns);
      const std::vector<float> expected = numbers_in_box(sample, sizes.grid, part);
      const auto size = static_cast<std::int64_t>(expected.size());
      for (std::int64_t k = 0; k < size; ++k) {
        const float read = of_box[i * size + k];
        const float wanted = expected[static_cast<std::size_t>(k)];
        EXPECT_TRUE(read == wanted || (std::isnan(read) && std::isnan(wanted))) << i << ' ' << k;
      }
    }
  };
  compare(static_cast<const float*>(box.inputs), static_cast<const float*>(whole.inputs),
          points * sizes.inputs);
  compare(box.targets, whole.targets, points * sizes.targets);
}

/// Compares the batches of boxes with those of whole samples, of one batch rank of two.
void expect_boxes_of_batches(const Options& options, const Sizes& sizes,
                             const std::array<std::int64_t, 3>& boxes) {
  const auto data = open_run_data(options);
  const Normalizer normalizer = data->normalizer({});
  for (const GridPart& part : parts_of(boxes)) {
    TrainingReader reader{.rank = 1, .ranks = 2};
    const auto whole = data->training_batches(normalizer, reader);
    const std::int64_t whole_bytes = data->reader_bytes(reader);
    reader.part = part;
    const auto box = data->training_batches(normalizer, reader);
    EXPECT_GT(data->reader_bytes(reader), 0);
    EXPECT_NE(data->reader_bytes(reader), whole_bytes);
    for (int step = 0; step < 8; ++step) expect_box(box->next(), whole->next(), sizes, part);
    EvaluationOptions evaluating{.max_samples = 2, .rank = 1, .ranks = 2};
    const auto whole_pass = data->pass_over(DataPart::test, normalizer, evaluating);
    evaluating.part = part;
    const auto box_pass = data->pass_over(DataPart::test, normalizer, evaluating);
    EXPECT_GT(data->pass_bytes(DataPart::test, evaluating), 0);
    EXPECT_EQ(whole_pass->boxes(), 1);
    EXPECT_EQ(box_pass->boxes(), part.count());
    EXPECT_EQ(box_pass->share().count, whole_pass->share().count);
    Sizes of_step = sizes;
    const std::int64_t steps = std::max<std::int64_t>(1, options.rollout.steps);
    of_step.targets /= steps;
    of_step.inputs -= steps - 1;  // a forcing
    for (const Batch* batch = whole_pass->next(); batch != nullptr; batch = whole_pass->next())
      expect_box(*box_pass->next(), *batch, of_step, part);
    EXPECT_EQ(box_pass->next(), nullptr);
  }
}

TEST(BoxesOfRun, AreThoseOfTheSamplesOfABatchRank) {
  const TemporaryFolder folder;
  Options options;
  options.data.train = write_grid(folder / "a.h5", 20);
  options.data.test = write_grid(folder / "b.h5", 7);
  options.data.batch = 6;
  options.model.loss = losses::Mse{};
  for (const Normalize method : {Normalize::none, Normalize::standard, Normalize::channel}) {
    options.data.normalize = method;
    for (const Shuffle shuffle : {Shuffle::samples, Shuffle::blocks}) {
      options.data.shuffle = shuffle;
      expect_boxes_of_batches(options, {{4, 6}, 2, 1}, {1, 2, 3});
    }
  }
}

TEST(BoxesOfRun, AreThoseOfMaskedArraysAndRollouts) {
  const TemporaryFolder folder;
  const std::string lines =
      "f['u'] = code(14, 4, 6) / 64; f['q'] = -code(14, 4, 6); f['sea'] = n.ones((4, 6)); f['land'] = "
      "code(4, "
      "6)\n"
      "f['sea'][1, 2] = 0; f['sea'][2:, :2] = 0; f['u'][:, 1, 2] = 1e38; f['q'][3, 0, 0] = n.nan";
  Options options;
  options.data.train = write_arrays(folder / "a.h5", lines);
  options.data.test = write_arrays(folder / "b.h5", lines + "\nf['u'][:] += 1");
  options.data.batch = 4;
  options.data.normalize = Normalize::channel;
  options.data.arrays = one_array("/u", {"time", "y", "x"});
  options.data.arrays.inputs = {"/u", "/q"};
  options.data.arrays.constants = {"/land"};
  options.data.arrays.masks = {{"/u", "/sea"}};
  options.data.arrays.missing = {"/q"};
  options.model.loss = losses::Mse{};
  expect_boxes_of_batches(options, {{4, 6}, 3, 1}, {1, 2, 3});
  options.rollout.steps = 3;
  for (const Shuffle shuffle : {Shuffle::samples, Shuffle::blocks}) {
    options.data.shuffle = shuffle;
    expect_boxes_of_batches(options, {{4, 6}, 5, 3}, {1, 2, 3});
  }
  // What the mask leaves out is 0 for the network of each box, and has no weight in its loss.
  options.rollout.steps = 1;
  const auto data = open_run_data(options);
  const Normalizer normalizer = data->normalizer({});
  const GridPart part{{1, 2, 3}, {0, 1, 0}};  // no point of /u counts
  const Normalizer of_box = part_of(normalizer, {4, 6, 3}, part);
  for (std::size_t i = 0; i < of_box.inputs.scale.size(); ++i)
    EXPECT_EQ(of_box.inputs.scale[i] == 0, i % 3 == 0) << i;
}

TEST(BoxesOfRun, AreThoseOfSamplesFlippedAlongAWholeAxis) {
  const TemporaryFolder folder;
  Options options;
  options.data.train = write_grid(folder / "a.h5", 20);
  options.data.test = write_grid(folder / "b.h5", 7);
  options.data.batch = 6;
  options.data.augment.flip_horizontal = true;
  options.model.loss = losses::Mse{};
  expect_boxes_of_batches(options, {{4, 6}, 2, 1}, {1, 2, 1});
}

}  // namespace mylos::boxes_of_run_test
