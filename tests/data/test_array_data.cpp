// Arrays as they lie in files, as the data of a run: batches, parts, passes, normalisation.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "data/builders.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/feed/sampler.hpp"
#include "mylos/data/run/run_data.hpp"
#include "support/refusal.hpp"

namespace mylos::array_data_test {

using namespace testing_support;

constexpr std::int64_t rows = 2;
constexpr std::int64_t columns = 3;
constexpr std::int64_t points = rows * columns;
constexpr std::int64_t history = 2;
constexpr std::int64_t channels = history * 2 + 1;  // u and v at two levels, the mask

/// The value of u (field 0) or v (field 1) in file `file`.
float value_at(std::int64_t file, std::int64_t field, std::int64_t level, std::int64_t point) {
  return static_cast<float>(1000 * file + 500 * field + 10 * level + point) / 64;
}

/// A window: its file and the newest level of its inputs.
struct Window {
  std::int64_t file;
  std::int64_t newest;
};

class ArrayDataTest : public testing::Test {
 protected:
  ArrayDataTest() {
    for (std::int64_t file = 0; file < 3; ++file) write_fields(file, levels[static_cast<std::size_t>(file)]);
    options.data.train = DataFiles(folder / "run[01].h5");
    options.data.test = folder / "run2.h5";
    options.data.batch = 3;
    options.data.arrays.inputs = {"/u", "/v"};
    options.data.arrays.targets = {"/u"};
    options.data.arrays.constants = {"/mask"};
    options.data.arrays.axes = {"time", "y", "x"};
    options.data.arrays.history = history;
    options.model.loss = losses::Mse{};
  }

  /// Doubles, as a solver writes them.
  void write_fields(std::int64_t file, std::int64_t count) const {
    python(
        fmt::format("import h5py, numpy as n\n"
                    "t, p = n.meshgrid(n.arange({1}), n.arange({2}), indexing='ij')\n"
                    "f = h5py.File('{0}', 'w')\n"
                    "for i, name in enumerate('uv'):\n"
                    "  f[name] = ((1000 * {3} + 500 * i + 10 * t + p) / 64).reshape({1}, {4}, {5})\n"
                    "f['mask'] = n.arange(100., 100 + {2}).reshape({4}, {5})\n",
                    folder / fmt::format("run{}.h5", file), count, points, file, rows, columns));
  }

  /// Returns the windows of the training files in order.
  [[nodiscard]] std::vector<Window> training_windows(std::int64_t steps = 1) const {
    std::vector<Window> windows;
    for (std::int64_t file = 0; file < 2; ++file) {
      for (std::int64_t newest = history - 1; newest + steps < levels[static_cast<std::size_t>(file)];
           ++newest)
        windows.push_back({file, newest});
    }
    return windows;
  }

  static std::vector<float> inputs_of(const Window& window) {
    std::vector<float> values;
    for (std::int64_t point = 0; point < points; ++point) {
      for (std::int64_t level = window.newest - 1; level <= window.newest; ++level) {
        for (std::int64_t field = 0; field < 2; ++field)
          values.push_back(value_at(window.file, field, level, point));
      }
      values.push_back(static_cast<float>(100 + point));
    }
    return values;
  }
  static std::vector<float> targets_of(const Window& window) {
    std::vector<float> values;
    for (std::int64_t point = 0; point < points; ++point)
      values.push_back(value_at(window.file, 0, window.newest + 1, point));
    return values;
  }

  static void expect_sample(const Batch& batch, std::int64_t row, const Window& window) {
    const auto* inputs = static_cast<const float*>(batch.inputs) + row * points * channels;
    EXPECT_EQ(std::vector<float>(inputs, inputs + points * channels), inputs_of(window));
    const float* targets = batch.targets + row * points;
    EXPECT_EQ(std::vector<float>(targets, targets + points), targets_of(window));
  }

  [[nodiscard]] std::unique_ptr<RunData> open(GroundTruth truth = GroundTruth::required) const {
    return open_run_data(options, truth, {{"data.shape", "deck.toml:7"}});
  }

  TemporaryFolder folder;
  Options options;
  static constexpr std::array<std::int64_t, 3> levels{9, 6, 5};  // of each file
};

TEST_F(ArrayDataTest, TheNetworkHasTheGridOfTheArrays) {
  ModelOptions model = options.model;
  const auto data = open();
  data->complete(model);
  EXPECT_EQ(model.inputs, points * channels);
  EXPECT_EQ(model.outputs, points);
  EXPECT_EQ(model.shape, (std::vector<std::int64_t>{rows, columns, channels}));
  EXPECT_EQ(data->samples(DataPart::train), 7 + 4);
  EXPECT_EQ(data->samples(DataPart::test), 3);
  EXPECT_EQ(data->epochs().steps_for(1), 3);
}

TEST_F(ArrayDataTest, RanksReadTheWindowsInTheOrderOfTheSampler) {
  const std::vector<Window> windows = training_windows();
  for (const Shuffle shuffle : {Shuffle::samples, Shuffle::blocks}) {
    options.data.shuffle = shuffle;
    const auto data = open();
    // The same for every number of ranks, and after a restart.
    std::vector<std::vector<float>> first_of_step;
    for (const int ranks : {1, 2, 3}) {
      for (int rank = 0; rank < ranks; ++rank) {
        const auto reader = data->training_batches({}, {.rank = rank, .ranks = ranks});
        for (std::size_t step = 0; step < 8; ++step) {
          const Batch& batch = reader->next();
          ASSERT_EQ(batch.samples, share_of(3, rank, ranks).count);
          for (std::int64_t row = 0; row < batch.samples; ++row) {
            const auto* inputs = static_cast<const float*>(batch.inputs) + row * points * channels;
            const std::vector<float> read(inputs, inputs + points * channels);
            const auto window = std::find_if(windows.begin(), windows.end(),
                                             [&](const Window& each) { return inputs_of(each) == read; });
            ASSERT_NE(window, windows.end());
            expect_sample(batch, row, *window);
            const std::size_t sample = step * 3 + static_cast<std::size_t>(batch.first_sample + row);
            if (ranks == 1) {
              first_of_step.push_back(read);
            } else {
              EXPECT_EQ(read, first_of_step[sample]) << ranks << " ranks, sample " << sample;
            }
          }
        }
      }
    }
    const auto resumed = data->training_batches({}, {.first_position = 12});
    const Batch& batch = resumed->next();
    const auto* inputs = static_cast<const float*>(batch.inputs);
    EXPECT_EQ(std::vector<float>(inputs, inputs + points * channels), first_of_step[12]);
  }
}

TEST_F(ArrayDataTest, ValidationIsTheLastWindowsAndTestReadsItsFiles) {
  options.data.validation = 0.25;
  const auto data = open();
  const std::vector<Window> windows = training_windows();
  ASSERT_EQ(data->samples(DataPart::validation), 3);
  const auto held_out = data->pass_over(DataPart::validation, {}, {});
  const Batch* batch = held_out->next();
  ASSERT_EQ(batch->samples, 3);
  for (std::int64_t row = 0; row < 3; ++row)
    expect_sample(*batch, row, windows[windows.size() - 3 + static_cast<std::size_t>(row)]);
  const auto test = data->pass_over(DataPart::test, {}, {});
  batch = test->next();
  ASSERT_EQ(batch->samples, 3);
  for (std::int64_t row = 0; row < 3; ++row) expect_sample(*batch, row, {2, row + 1});
}

TEST_F(ArrayDataTest, EveryLevelOfAChannelIsNormalisedAlike) {
  for (const Normalize method : {Normalize::standard, Normalize::channel, Normalize::minmax}) {
    options.data.normalize = method;
    const auto data = open();
    const Normalizer normalizer = data->normalizer([](const std::string&) {});
    ASSERT_EQ(normalizer.inputs.shift.size(), static_cast<std::size_t>(points * channels));
    ASSERT_EQ(normalizer.targets.shift.size(), static_cast<std::size_t>(points));
    const ColumnScaling& inputs = normalizer.inputs;
    for (std::size_t column = 0; column < inputs.shift.size(); ++column) {
      const std::size_t channel = column % channels;
      const std::size_t same = channel == 4 ? 4 : channel % 2;
      EXPECT_EQ(inputs.shift[column], inputs.shift[same]);
      EXPECT_EQ(inputs.scale[column], inputs.scale[same]);
    }
    for (const double shift : normalizer.targets.shift) EXPECT_EQ(shift, inputs.shift[0]);
    EXPECT_EQ(normalizer.input_range.minimum.size(), static_cast<std::size_t>(channels));
    const Normalizer room = data->room_for_normalizer();
    EXPECT_EQ(room.inputs.shift.size(), inputs.shift.size());
    EXPECT_EQ(room.targets.shift.size(), normalizer.targets.shift.size());
    EXPECT_EQ(room.input_range.minimum.size(), normalizer.input_range.minimum.size());
    const auto reader = data->training_batches(normalizer, {});
    const auto* first = static_cast<const float*>(reader->next().inputs);
    for (std::size_t i = 0; i < points * channels; ++i) EXPECT_LT(std::abs(first[i]), 4);
  }
}

TEST_F(ArrayDataTest, PredictionNeedsNoTargets) {
  python("import h5py\nf = h5py.File('" + (folder / "run2.h5") + "', 'a')\nf.move('u', 'w')\n");
  options.data.train = options.data.test;
  options.data.test.clear();
  options.data.arrays.inputs = {"/w", "/v"};
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::missing_dataset, {folder / "run2.h5", "/u"},
                            [&] { static_cast<void>(open()); }));
  const auto data = open(GroundTruth::optional);
  ModelOptions model = options.model;
  data->complete(model);
  EXPECT_EQ(model.inputs, points * channels);
  EXPECT_EQ(model.outputs, 0);
  const auto pass = data->pass_over(DataPart::train, {}, {});
  EXPECT_EQ(pass->next()->samples, data->samples(DataPart::train));
}

TEST_F(ArrayDataTest, AnArrayInPlaceOfAGroupIsNamed) {
  options.data.arrays.inputs = {"/v/east"};
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::missing_dataset, {"/v/east", "/v is not a group"},
                            [&] { static_cast<void>(open()); }));
}

TEST_F(ArrayDataTest, AnotherGridInTheDeckIsRefused) {
  options.data.shape = {rows, columns, channels};
  static_cast<void>(open());
  options.data.shape = {columns, rows, channels};
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::data_mismatch,
                            {"deck.toml:7: ", "data.shape = [3, 2, 5]", "[2, 3, 5]"},
                            [&] { static_cast<void>(open()); }));
}

TEST_F(ArrayDataTest, AValueThatIsNotFiniteIsNamedWithItsArrayAndIndex) {
  python("import h5py\nf = h5py.File('" + (folder / "run1.h5") + "', 'a')\nf['v'][3, 1, 2] = float('nan')\n");
  const auto data = open();
  EXPECT_TRUE(
      test::refuses(ExitCode::bad_input, errors::not_finite, {folder / "run1.h5", "/v", "3, 1, 2"}, [&] {
        const auto reader = data->training_batches({}, {});
        for (int step = 0; step < 4; ++step) static_cast<void>(reader->next());
      }));
}

TEST_F(ArrayDataTest, TheIdentityIsThatOfTheContents) {
  const std::string identity = open()->identity(DataPart::train);
  EXPECT_EQ(open()->identity(DataPart::train), identity);
  python("import h5py\nf = h5py.File('" + (folder / "run1.h5") + "', 'a')\nf['v'][3, 1, 2] += 1\n");
  EXPECT_NE(open()->identity(DataPart::train), identity);
}

}  // namespace mylos::array_data_test
