#include "mylos/data/normalizer.hpp"

#include <gtest/gtest.h>

#include "data/builders.hpp"

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

TEST(Normalizer, AConstantColumnBecomesZeroNotInfinity) {
  for (const auto method : {Normalize::standard, Normalize::minmax}) {
    const auto scaling = scaling_for(method, two_columns);
    EXPECT_EQ(scaling.shift[1], 5.0f);
    EXPECT_EQ(scaling.scale[1], 1.0f);
  }
  // A spread below float's resolution at that size is no spread.
  EXPECT_EQ(scaling_for(Normalize::standard, {{1e6}, {1e-3}, {1e6}, {1e6 + 2e-3}}).scale[0], 1.0f);
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
  EXPECT_TRUE(normalizer_for(Normalize::standard, images).targets.identity());
  EXPECT_EQ(normalizer_for(Normalize::standard, images).inputs.shift.size(), 3u);
  const Dataset table(write_table(folder / "table.h5", 64, 2, 1));
  const auto normalizer = normalizer_for(Normalize::minmax, table);
  EXPECT_EQ(normalizer.inputs.shift, (std::vector<float>{100, 110}));
  EXPECT_EQ(normalizer.targets.shift, (std::vector<float>{120}));
  EXPECT_FLOAT_EQ(normalizer.targets.scale[0], 1 / 15.75f);  // all 64 residues occur
  EXPECT_EQ(normalizer_for(Normalize::none, table), Normalizer{});
}

}  // namespace mylos::normalizer_test
