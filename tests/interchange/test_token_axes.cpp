#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mylos/interchange/onnx_import/gpt/token_axes.hpp"

namespace mylos::token_axes_test {

using testing::ElementsAre;

// Two samples of five tokens, queries, keys and values of two heads with three numbers.
const TokenAxes rows = token_rows(2, 5, 18);

TEST(TokenAxes, HeadsAreAPartOfTheColumnsWithAStride) {
  const auto split = with_dims(rows, {2, 5, 3, 2, 3});
  ASSERT_TRUE(split);
  const auto heads = permuted(*split, {2, 0, 3, 1, 4});
  ASSERT_TRUE(heads);
  const auto keys = cut(*heads, 0, 1, 2);
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->first, 6);
  EXPECT_THAT(keys->dims(), ElementsAre(1, 2, 2, 5, 3));
  EXPECT_EQ(keys->columns_of(2), (AxisAtom{AxisAtom::Kind::column, 2, 3}));
  EXPECT_EQ(keys->columns_of(4), (AxisAtom{AxisAtom::Kind::column, 3, 1}));
  EXPECT_TRUE(keys->is_tokens(3));
}

TEST(TokenAxes, MergedHeadsAreRowsAgain) {
  const auto there = with_dims(rows, {2, 5, 6, 3});
  const auto swapped = permuted(*there, {0, 2, 1, 3});
  EXPECT_FALSE(swapped->is_rows(18));
  const auto back = with_dims(*permuted(*swapped, {0, 2, 1, 3}), {10, 18});
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->is_rows(18));
  EXPECT_FALSE(with_dims(*swapped, {2, 6, 15})->is_rows(18));
}

TEST(TokenAxes, SamplesAndTokensAreNotSplit) {
  EXPECT_FALSE(with_dims(rows, {4, 5, 9}));
  EXPECT_FALSE(with_dims(rows, {5, 2, 18}));
  EXPECT_FALSE(cut(rows, 1, 0, 1));
  EXPECT_FALSE(with_dims(rows, {2, 5}));
}

}  // namespace mylos::token_axes_test
