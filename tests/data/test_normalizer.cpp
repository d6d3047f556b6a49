#include "mylos/data/files/scaling/normalizer.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/builders.hpp"
#include "support/said.hpp"

namespace mylos::normalizer_test {

using namespace testing_support;

TEST(Statistics, AreThoseOfNumpyAlsoFarFromZero) {
  const TemporaryFolder folder;
  std::vector<float> values;
  for (int i = 0; i < 3000; ++i) values.push_back(1e6f + static_cast<float>((i * 7919) % 101) * 0.125f);
  StatisticsAccumulator accumulator(3);
  accumulator.add(values.data(), 400);
  accumulator.add(values.data() + 1200, 600);
  const auto statistics = accumulator.result();
  std::string ours;
  for (std::size_t i = 0; i < 3; ++i) {
    ours += fmt::format("{:.6f} {:.6f} {:.6f} {:.6f}\n", statistics.mean[i], statistics.deviation[i],
                        statistics.minimum[i], statistics.maximum[i]);
  }
  EXPECT_EQ(python("import numpy as n\n"
                   "i = n.arange(3000)\nx = (1e6 + ((i * 7919) % 101) * 0.125).reshape(1000, 3)\n"
                   "for c in x.T: print('%.6f %.6f %.6f %.6f' % (c.mean(), c.std(), c.min(), c.max()))"),
            ours);
}

const ColumnStatistics two_columns{{10, 5}, {2, 0}, {4, 5}, {20, 5}};

TEST(Normalizer, StandardAndMinmaxFollowTheirDefinitions) {
  const auto standard = scaling_for(Normalize::standard, two_columns);
  EXPECT_EQ(standard.shift[0], 10.0f);
  EXPECT_EQ(standard.scale[0], 0.5f);
  const auto minmax = scaling_for(Normalize::minmax, two_columns);
  EXPECT_EQ(minmax.shift[0], 4.0f);
  EXPECT_EQ(minmax.scale[0], 1.0f / 16);
  EXPECT_TRUE(scaling_for(Normalize::none, two_columns).identity());
}

TEST(Normalizer, ChannelsHaveTheStatisticsOfAllTheirPoints) {
  const TemporaryFolder folder;
  const std::string path = folder / "grid.h5";
  const std::string draw =
      "import h5py, numpy as n\nx = n.random.default_rng(1).normal(5, 2, (20, 4 * 6 * 3)).astype('f4')\n"
      "x[:, ::3] += n.arange(24)\nx[:, 2::3] = 7\n";
  python(draw + "f = h5py.File('" + path +
         "', 'w')\nf['inputs'] = x\nf['targets'] = x[:, :2]\nf.attrs['shape'] = '4 6 3'\n");
  const Dataset dataset(path);
  std::string noted;
  const auto note = [&](const std::string& line) { noted += line + "\n"; };
  const Normalizer normalizer = normalizer_for(Normalize::channel, dataset, {0, 15}, note, 3);
  EXPECT_EQ(noted, path +
                       ": 1 of 3 channels is constant in the training samples (channel 2, counted from 0); "
                       "data.normalize turns it into 0\n");
  std::string ours;
  for (const std::size_t i : {0u, 1u, 69u, 70u, 71u})
    ours += fmt::format("{:.9f} {:.9f}\n", normalizer.inputs.shift[i], normalizer.inputs.scale[i]);
  EXPECT_EQ(
      python(draw + "x = x[:15].astype('f8').reshape(-1, 3)\nm, s = x.mean(0), x.std(0)\n"
                    "for i in (0, 1, 0, 1, 2): print('%.9f %.9f' % (m[i], 1 / s[i] if s[i] > 1e-9 else 0))"),
      ours);
  EXPECT_EQ(normalizer.inputs.shift.size(), 72u);
  EXPECT_EQ(normalizer.targets, normalizer_for(Normalize::standard, dataset, {0, 15}).targets);
  EXPECT_EQ(room_for_normalizer(Normalize::channel, dataset, 3).inputs.shift.size(), 72u);
  EXPECT_TRUE(test::refusal_of([&] {
                (void)normalizer_for(Normalize::channel, dataset, {0, 15});
              }).starts_with(path + ": has no attribute 'shape' of /"));
}

TEST(Normalizer, TargetsOnTheGridHaveTheStatisticsOfTheirChannels) {
  const TemporaryFolder folder;
  const std::string path = folder / "grid.h5";
  const std::string draw =
      "import h5py, numpy as n\nx = n.random.default_rng(1).normal(5, 2, (20, 6 * 3)).astype('f4')\n"
      "y = x[:, :12] * n.arange(1, 13)\n";
  python(draw + "f = h5py.File('" + path + "', 'w')\nf['inputs'], f['targets'] = x, y.astype('f4')\n");
  const Dataset dataset(path);
  const auto targets = [&](bool on_grid) {
    return normalizer_for(Normalize::channel, dataset, {0, 15}, {}, 3, {}, true, on_grid).targets;
  };
  std::string ours;
  for (const std::size_t i : {0u, 1u, 10u, 11u})
    ours += fmt::format("{:.6f} {:.6f}\n", targets(true).shift[i], targets(true).scale[i]);
  EXPECT_EQ(python(draw + "y = y.astype('f4')[:15].astype('f8').reshape(-1, 2)\nm, s = y.mean(0), y.std(0)\n"
                          "for i in (0, 1, 0, 1): print('%.6f %.6f' % (m[i], 1 / s[i]))"),
            ours);
  EXPECT_EQ(targets(true).shift.size(), 12u);
  EXPECT_EQ(targets(false), normalizer_for(Normalize::standard, dataset, {0, 15}).targets);
}

TEST(Normalizer, KnowsTheRangeOfTheTrainingInputs) {
  const TemporaryFolder folder;
  const Dataset table(write_table(folder / "table.h5", 64, 4, 1));
  const InputRange of_columns = normalizer_for(Normalize::standard, table, {0, 64}).input_range;
  EXPECT_EQ(of_columns.minimum, (std::vector<double>{100, 110, 120, 130}));
  EXPECT_EQ(of_columns.maximum, (std::vector<double>{115.75, 125.75, 135.75, 145.75}));
  EXPECT_TRUE(of_columns.known());
  EXPECT_TRUE(of_columns.holds(110, 1) && of_columns.holds(125.75f, 1));
  EXPECT_FALSE(of_columns.holds(109.9f, 1) || of_columns.holds(125.8f, 1));
  const InputRange of_channels = normalizer_for(Normalize::minmax, table, {0, 64}, {}, 2).input_range;
  EXPECT_EQ(of_channels.minimum, (std::vector<double>{100, 110}));
  EXPECT_EQ(of_channels.maximum, (std::vector<double>{135.75, 145.75}));
  EXPECT_TRUE(of_channels.holds(140, 3));
  EXPECT_FALSE(of_channels.holds(140, 2));
  const Normalizer room = room_for_normalizer(Normalize::minmax, table, 2);
  EXPECT_EQ(room.input_range.minimum.size(), 2u);
  EXPECT_FALSE(room.input_range.known());
  EXPECT_TRUE(room_for_normalizer(Normalize::none, table).input_range.minimum.empty())
      << "a file that is not prepare's has none without a pass";
  const Dataset images(write_images(folder / "images.h5", 50, 3, 10));
  EXPECT_TRUE(normalizer_for(Normalize::standard, images, {0, 50}).input_range.minimum.empty()) << "of bytes";
}

TEST(Normalizer, AConstantColumnBecomesZeroNotInfinity) {
  for (const auto method : {Normalize::standard, Normalize::minmax}) {
    const auto scaling = scaling_for(method, two_columns);
    EXPECT_EQ(scaling.shift[1], 5.0f);
    EXPECT_EQ(scaling.scale[1], 0);  // for every value in other data
    EXPECT_EQ(scaling_for(method, two_columns, 1).scale[1], 1);
  }
  // A spread below float's resolution at that magnitude counts as none.
  EXPECT_EQ(scaling_for(Normalize::standard, {{1e6}, {1e-3}, {1e6}, {1e6 + 2e-3}}).scale[0], 0);
}

TEST(Normalizer, ASpreadWhoseInverseIsNoFloatIsScaledToOne) {
  const float tiny = 1e-42f;  // subnormal: 1 / tiny is infinite in float
  const float huge = 3e38f;   // huge - (-huge) is
  for (const float value : {tiny, huge}) {
    const double high = value;
    const auto scaling = scaling_for(Normalize::minmax, {{0}, {high}, {-high}, {high}});
    EXPECT_DOUBLE_EQ(scaling.normalised(value, 0), 1);
    EXPECT_EQ(scaling.normalised(-value, 0), 0);
    Normalizer normalizer;
    normalizer.targets = scaling;
    std::vector<float> prediction{1};
    normalizer.undo_targets(prediction);
    EXPECT_EQ(prediction[0], value);
  }
}

TEST(Normalizer, NamesTheColumnsThatAreConstantInTheTrainingSamples) {
  const TemporaryFolder folder;
  const std::string path = folder / "some.h5";
  python(
      "import h5py, numpy as n\nx = n.arange(40, dtype='f4').reshape(10, 4)\nx[:, 1] = 7\nx[:8, 2] = 1e-41\n"
      "f = h5py.File('" +
      path + "', 'w')\nf['inputs'] = x\nf['targets'] = n.ones((10, 1), 'f4')\n");
  const Dataset dataset(path);
  std::string noted;
  const auto note = [&](const std::string& line) { noted += line + "\n"; };
  const Normalizer normalizer = normalizer_for(Normalize::standard, dataset, {0, 8}, note);
  EXPECT_EQ(noted, path +
                       ": 2 of 4 inputs are constant in the training samples (columns 1, 2, counted from 0); "
                       "data.normalize turns them into 0\n" +
                       path +
                       ": 1 of 1 targets is constant in the training samples (column 0, counted from 0); "
                       "data.normalize turns it into 0\n");
  EXPECT_EQ(normalizer.inputs.shift[0], 14);  // of rows 0 to 7: 0, 4 ... 28
  EXPECT_EQ(normalizer.inputs.scale[2], 0);
  EXPECT_EQ(normalizer.targets.scale[0], 1);
  EXPECT_EQ(constant_columns(Normalize::standard, dataset.input_statistics()), std::vector<std::size_t>{1});
  EXPECT_EQ(room_for_normalizer(Normalize::minmax, dataset).targets.shift.size(), 1u);

  noted.clear();
  const Normalizer of_inputs = normalizer_for(Normalize::standard, dataset, {0, 8}, note, 0, {}, false);
  EXPECT_EQ(of_inputs.inputs, normalizer.inputs);
  EXPECT_TRUE(of_inputs.targets.identity());
  EXPECT_EQ(noted.find("targets"), std::string::npos) << "they stay as they are: " << noted;
  EXPECT_TRUE(room_for_normalizer(Normalize::minmax, dataset, 0, false).targets.identity());
}

TEST(Normalizer, PredictionsComeBackInTheTargetsUnits) {
  Normalizer normalizer;
  normalizer.targets = scaling_for(Normalize::standard, {{10, -3}, {2, 0.5}, {0, -4}, {20, 0}});
  std::vector<float> predictions{0, 0, 1, 1, -2, 4};
  normalizer.undo_targets(predictions);
  EXPECT_EQ(predictions, (std::vector<float>{10, -3, 12, -2.5f, 6, -1}));
}

TEST(Normalizer, ComesFromTheTrainingFileAndItsTargetsOnlyInARegression) {
  const TemporaryFolder folder;
  const Dataset images(write_images(folder / "images.h5", 50, 3, 10));
  const Split all_images{0, 50};
  EXPECT_TRUE(normalizer_for(Normalize::standard, images, all_images).targets.identity());
  EXPECT_EQ(normalizer_for(Normalize::standard, images, all_images).inputs.shift.size(), 3u);
  const Dataset table(write_table(folder / "table.h5", 64, 2, 1));
  const auto normalizer = normalizer_for(Normalize::minmax, table, {0, 64});
  EXPECT_EQ(normalizer.inputs.shift, (std::vector<double>{100, 110}));
  EXPECT_EQ(normalizer.targets.shift, (std::vector<double>{120}));
  EXPECT_DOUBLE_EQ(normalizer.targets.scale[0], 1 / 15.75);  // all 64 residues occur
  EXPECT_EQ(normalizer_for(Normalize::none, table, {0, 64}), Normalizer{});
}

TEST(ColumnScaling, AppliesToTheColumnsOfEachRowAlsoInPlace) {
  const ColumnScaling scaling{.shift = {1, 10}, .scale = {2, 0.5}};
  std::vector<float> rows = {1, 10, 3, 14};
  scaling.apply(rows, rows);
  EXPECT_EQ(rows, (std::vector<float>{0, 0, 4, 2}));
  ColumnScaling().apply(rows, rows);
  EXPECT_EQ(rows, (std::vector<float>{0, 0, 4, 2}));
}

}  // namespace mylos::normalizer_test
