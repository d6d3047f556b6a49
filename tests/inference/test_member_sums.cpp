#include "mylos/inference/ensemble/member_sums.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace mylos {
namespace {

std::vector<float> means(const MemberSums& sums, std::size_t first, std::size_t count) {
  std::vector<float> found(count);
  sums.mean(first, found);
  return found;
}

std::vector<float> deviations(const MemberSums& sums, std::int64_t members, std::size_t first,
                              std::size_t count) {
  std::vector<float> found(count);
  sums.deviation(members, first, found);
  return found;
}

TEST(MemberSums, MembersHaveTheDeviationOfASample) {
  MemberSums sums;
  sums.start(2, false);
  const std::vector<std::vector<float>> members{{1, -4}, {2, -4}, {6, -4}};
  for (std::size_t i = 0; i < members.size(); ++i) sums.add(static_cast<std::int64_t>(i), 0, members[i]);
  EXPECT_EQ(means(sums, 0, 2), (std::vector<float>{3, -4}));
  // numpy.std([1, 2, 6], ddof=1)
  EXPECT_EQ(deviations(sums, 3, 0, 2), (std::vector<float>{2.6457513110645907f, 0}));
}

TEST(MemberSums, PiecesHaveTheBitsOfTheWhole) {
  MemberSums whole, pieces;
  whole.start(3, false);
  pieces.start(3, false);
  for (std::int64_t member = 0; member < 5; ++member) {
    const auto at = [&](int i) { return std::sin(static_cast<float>(7 * member + i)); };
    const std::vector<float> values{at(0), at(1), at(2)};
    whole.add(member, 0, values);
    pieces.add(member, 1, std::span(values).subspan(1));
    pieces.add(member, 0, std::span(values).first(1));
  }
  EXPECT_EQ(means(whole, 0, 3), means(pieces, 0, 3));
  EXPECT_EQ(deviations(whole, 5, 1, 2), deviations(pieces, 5, 1, 2));
}

TEST(MemberSums, MembersFarFromZeroLoseNoDigits) {
  MemberSums sums;
  sums.start(1, false);
  const float far = 16777216;  // 2^24: its squares in double have no digits for the differences below
  const std::vector<float> members{far, far + 2, far + 4};
  for (std::size_t i = 0; i < members.size(); ++i)
    sums.add(static_cast<std::int64_t>(i), 0, std::span(members).subspan(i, 1));
  EXPECT_EQ(means(sums, 0, 1), std::vector<float>{far + 2});
  EXPECT_EQ(deviations(sums, 3, 0, 1), std::vector<float>{2});
}

TEST(MemberSums, DeviationsOfMembersMakeAMixture) {
  MemberSums sums;
  sums.start(1, true);
  sums.add(0, 0, std::vector<float>{1}, std::vector<float>{3});
  sums.add(1, 0, std::vector<float>{5}, std::vector<float>{1});
  // mean of variances (9 + 1) / 2, variance of means ((1 - 3)^2 + (5 - 3)^2) / 2
  EXPECT_EQ(means(sums, 0, 1), std::vector<float>{3});
  EXPECT_EQ(deviations(sums, 2, 0, 1), std::vector<float>{3});
}

TEST(MemberSums, OneMemberHasItsOwnDeviationOrNone) {
  MemberSums sums;
  sums.start(1, true);
  sums.add(0, 0, std::vector<float>{1}, std::vector<float>{0.25f});
  EXPECT_EQ(deviations(sums, 1, 0, 1), std::vector<float>{0.25f});
  sums.start(1, false);
  sums.add(0, 0, std::vector<float>{1});
  EXPECT_EQ(deviations(sums, 1, 0, 1), std::vector<float>{0});
}

TEST(MemberSums, ANumberThatIsNotFiniteStaysSo) {
  MemberSums sums;
  sums.start(1, false);
  sums.add(0, 0, std::vector<float>{1});
  sums.add(1, 0, std::vector<float>{INFINITY});
  EXPECT_FALSE(std::isfinite(means(sums, 0, 1).front()));
  EXPECT_FALSE(std::isfinite(deviations(sums, 2, 0, 1).front()));
}

}  // namespace
}  // namespace mylos
