// Margins against their definition: zeros outside, the same bits inside; each operation undoes the other. A
// grid that is inserted leaves the points around it.
#include "mylos/kernels/grid/margins.hpp"

#include <gtest/gtest.h>

#include "kernels/matrix.hpp"
#include "mylos/base/error.hpp"

namespace mylos::margins_test {

constexpr std::int64_t samples = 3;

class Margins : public testing::TestWithParam<std::tuple<MarginShape, DType>> {};

/// Returns the column of the inner grid that lies at column `column` of the outer one; -1: a margin.
std::int64_t inner_column(const MarginShape& shape, std::int64_t column) {
  const std::int64_t channels = shape.inner.channels;
  std::int64_t point = column / channels;
  std::int64_t position[3];
  for (std::size_t axis = 3; axis-- > 0;) {
    position[axis] = point % shape.outer[axis] - shape.before[axis];
    point /= shape.outer[axis];
    if (position[axis] < 0 || position[axis] >= shape.inner.extent[axis]) return -1;
  }
  const Extents& extent = shape.inner.extent;
  return ((position[0] * extent[1] + position[1]) * extent[2] + position[2]) * channels + column % channels;
}

TEST_P(Margins, AreZerosAndCropsTakeThemAway) {
  const auto& [shape, type] = GetParam();
  check(shape);
  const std::int64_t inner = shape.inner.columns();
  const std::int64_t outer = outer_grid(shape).columns();
  const auto x = test::random_values(type, samples * inner, -1, 1, 1);
  const auto full = test::random_values(type, samples * outer, -1, 1, 2);
  const test::Matrix in(type, samples, inner, x);
  const test::Matrix padded(type, samples, outer);
  pad_grid(Execution{}, shape, in, padded);
  const test::Matrix large(type, samples, outer, full);
  const test::Matrix cropped(type, samples, inner);
  crop_grid(Execution{}, shape, large, cropped);
  std::vector<float> expected_padded;
  std::vector<float> expected_cropped(x.size());
  for (std::int64_t i = 0; i < samples * outer; ++i) {
    const std::int64_t column = inner_column(shape, i % outer);
    const auto element = static_cast<std::size_t>(i / outer * inner + column);
    expected_padded.push_back(column < 0 ? 0 : x[element]);
    if (column >= 0) expected_cropped[element] = full[static_cast<std::size_t>(i)];
  }
  insert_grid(Execution{}, shape, in, large);
  std::vector<float> expected_large = full;
  for (std::int64_t i = 0; i < samples * outer; ++i) {
    if (inner_column(shape, i % outer) >= 0)
      expected_large[static_cast<std::size_t>(i)] = expected_padded[static_cast<std::size_t>(i)];
  }
  EXPECT_EQ(large.values(), expected_large);
  EXPECT_EQ(padded.values(), expected_padded);
  EXPECT_EQ(cropped.values(), expected_cropped);
}

INSTANTIATE_TEST_SUITE_P(Grids, Margins,
                         testing::Combine(testing::Values(MarginShape{{{1, 4, 5}, 6}, {1, 8, 7}, {0, 2, 1}},
                                                          MarginShape{{{3, 1, 2}, 5}, {4, 3, 2}, {0, 2, 0}},
                                                          MarginShape{
                                                              {{1, 1, 3}, 301}, {1, 1, 3}, {0, 0, 0}}),
                                          testing::ValuesIn(test::all_types)));

TEST(MarginShape, RefusesAGridThatDoesNotLieInside) {
  EXPECT_THROW(check(MarginShape{{{1, 2, 4}, 1}, {1, 2, 3}, {0, 0, 0}}), Error);
  EXPECT_THROW(check(MarginShape{{{1, 2, 4}, 1}, {1, 2, 6}, {0, 0, 3}}), Error);
  EXPECT_THROW(check(MarginShape{{{1, 2, 4}, 1}, {1, 2, 6}, {0, 0, -1}}), Error);
  EXPECT_THROW(check(MarginShape{{{1, 2, 4}, 1}, {1, 1 << 20, 1 << 20}, {0, 0, 0}}), Error);
}

}  // namespace mylos::margins_test
