// Suggestions of names for a misspelt one.
#include "mylos/base/numbers/nearest.hpp"

#include <gtest/gtest.h>

namespace mylos {
namespace {

TEST(NearestNames, AreTheFourNearestInTheirOrder) {
  EXPECT_EQ(nearest_names("hiden1/weight",
                          {"head/bias", "hidden2/weight", "hidden1/bias", "hidden1/weight", "norm/scale"}),
            "hidden1/weight, hidden2/weight, hidden1/bias, head/bias");
}

TEST(NearestNames, AreShortOnesRatherThanThoseOfAStranger) {
  const std::string endless(100'000, 'w');
  EXPECT_EQ(nearest_names("www", {endless, "head", "tail", "body", "feet"}), "head, tail, body, feet");
}

}  // namespace
}  // namespace mylos
