// The samples of a file that are trained on, and those of the validation.
#include <gtest/gtest.h>

#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/files/dataset.hpp"
#include "support/refusal.hpp"
#include "support/said.hpp"

namespace mylos::splits_test {

TEST(Splits, ValidationIsTheEndOfTheFile) {
  const auto splits = split_samples(1000, 0.1);
  EXPECT_EQ(splits.train.first, 0);
  EXPECT_EQ(splits.train.count, 900);
  EXPECT_EQ(splits.validation.first, 900);
  EXPECT_EQ(splits.validation.count, 100);
  EXPECT_EQ(split_samples(1000, 0).validation.count, 0);
  EXPECT_TRUE(test::says(test::refusal_of([] { (void)split_samples(1000, 1.0); }), errors::bad_value,
                         {"data.validation", "1", "least 0", "below 1"}));
  EXPECT_TRUE(test::says(test::refusal_of([] { (void)split_samples(10, 0.01); }), errors::too_little_data,
                         {"data.validation", "0.01", "of 10"}));
}

}  // namespace mylos::splits_test
