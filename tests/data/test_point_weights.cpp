// Weights of points: in the order of the grid, whatever the order of their axes.
#include "mylos/data/run/point_weights.hpp"

#include <gtest/gtest.h>

#include "data/arrays/array_builders.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "support/refusal.hpp"

namespace mylos {
namespace {

using namespace testing_support;

class PointWeightsTest : public testing::Test {
 protected:
  PointWeightsTest() {
    write_arrays(folder / "areas.h5", "f['area'] = 1.0 + n.arange(6).reshape(3, 2)");
    data.arrays = one_array("/u", {"time", "y", "x"});
    data.weights = {folder / "areas.h5", "/area"};
  }
  [[nodiscard]] std::vector<float> values() const { return read_point_weights(data, 100)->values; }

  /// Divided by the mean of 1 ... 6.
  static std::vector<float> parts(const std::vector<int>& numbers) {
    std::vector<float> values;
    for (const int number : numbers) values.push_back(static_cast<float>(number / 3.5));
    return values;
  }

  TemporaryFolder folder;
  DataOptions data;
};

TEST_F(PointWeightsTest, HaveTheOrderOfTheGridUnlessTheDeckGivesTheirs) {
  EXPECT_EQ(values(), parts({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read_point_weights(data, 100)->extents, (std::vector<std::int64_t>{3, 2}));
  data.arrays.axes_of = {{"/area", {"x", "y"}}};
  EXPECT_EQ(values(), parts({1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(read_point_weights(data, 100)->extents, (std::vector<std::int64_t>{2, 3}));
  data.arrays.axes_of = {{"/area", {"y", "x"}}};
  EXPECT_EQ(values(), parts({1, 2, 3, 4, 5, 6}));
}

TEST_F(PointWeightsTest, AreRefusedWithOtherDimensionsThanTheDeckGives) {
  data.arrays.axes = {"time", "z", "y", "x"};
  data.arrays.axes_of = {{"/area", {"x", "y", "z"}}};
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::bad_dataset,
                            {"areas.h5: array /area", "2 dimensions [3, 2]", "has 3: \"x y z\""},
                            [&] { static_cast<void>(values()); }));
}

}  // namespace
}  // namespace mylos
