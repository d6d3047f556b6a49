// The decisions of ASHA against a table made by hand from algorithm 2 of arXiv 1810.05934.
#include "mylos/sweep/schedule/halving.hpp"

#include <gtest/gtest.h>

namespace mylos::halving_test {

using Kind = NextJob::Kind;

MemberProgress at(std::vector<std::optional<double>> values) {
  return {.values = std::move(values)};
}
MemberProgress claimed(std::vector<std::optional<double>> values) {
  return {.values = std::move(values), .is_claimed = true};
}
MemberProgress over(std::vector<std::optional<double>> values) {
  return {.values = std::move(values), .is_over = true};
}

void expect_job(const std::vector<MemberProgress>& members, std::size_t member, std::size_t rung,
                const SweepRules& rules = {.rungs = 3, .factor = 3}) {
  const NextJob job = next_job(members, rules);
  EXPECT_EQ(job.kind, Kind::train);
  EXPECT_EQ(job.member, member);
  EXPECT_EQ(job.rung, rung);
}

TEST(Halving, BeginsMembersUntilARungHasFactorResults) {
  expect_job({at({}), at({}), at({})}, 0, 0);
  expect_job({at({0.5}), at({0.4}), at({}), at({})}, 2, 0);
  // Of three results the best third: one.
  expect_job({at({0.5}), at({0.4}), at({0.6}), at({})}, 1, 1);
  // It is promoted already; of three only one is.
  expect_job({at({0.5}), claimed({0.4}), at({0.6}), at({})}, 3, 0);
}

TEST(Halving, PromotesFromTheHighestRungFirst) {
  // Rung 1: members 0, 1, 2 -> the best, 2, to rung 2. Rung 0 could promote too: of 9, three: 0, 1, 2 have
  // gone; none.
  const std::vector<MemberProgress> members{at({0.1, 0.3}), at({0.2, 0.2}), at({0.3, 0.1}),
                                            at({0.4}),      at({0.5}),      at({0.6}),
                                            at({0.7}),      at({0.8}),      at({0.9})};
  expect_job(members, 2, 2);
}

TEST(Halving, PromotesABetterLatecomer) {
  // Six results at rung 0: two promotions. Member 0 was promoted when there were three; 5 is better.
  expect_job({claimed({0.3}), at({0.5}), at({0.6}), at({0.7}), at({0.8}), at({0.1}), at({})}, 5, 1);
}

TEST(Halving, PrefersHigherValuesOfSuchMetrics) {
  expect_job({at({0.5}), at({0.4}), at({0.6})}, 2, 1, {.rungs = 3, .factor = 3, .higher_is_better = true});
}

TEST(Halving, RanksMembersWithoutAValueLastAndCountsThem) {
  // The diverged members count as results; the third of them is the one with a value.
  expect_job({over({std::nullopt}), at({9.0}), over({std::nullopt}), at({})}, 1, 1);
  EXPECT_EQ(next_job({over({std::nullopt}), over({std::nullopt})}, {.rungs = 2}).kind, Kind::none);
}

TEST(Halving, WaitsForOtherGroups) {
  EXPECT_EQ(next_job({claimed({}), at({0.4})}, {.rungs = 2, .factor = 3}).kind, Kind::wait);
  EXPECT_EQ(next_job({claimed({})}, {}).kind, Kind::wait);
}

TEST(Halving, LetsTheBestMemberFinishIfNoneHas) {
  const SweepRules rules{.rungs = 3, .factor = 3};
  expect_job({at({0.5}), at({0.4})}, 1, 1, rules);
  expect_job({at({0.5}), at({0.4, 0.3})}, 1, 2, rules);
  EXPECT_EQ(next_job({at({0.5}), over({0.4, 0.3, 0.2})}, rules).kind, Kind::none);
}

TEST(Halving, FirstTakesUpWhatAnEarlierStartHadBegun) {
  MemberProgress interrupted = at({0.9});
  interrupted.is_interrupted = true;
  expect_job({at({0.1}), at({0.2}), at({0.3}), interrupted, at({})}, 3, 1);
}

TEST(Halving, WithOneRungTrainsEachMemberOnce) {
  expect_job({over({1.0}), claimed({}), at({})}, 2, 0, {});
  EXPECT_EQ(next_job({over({1.0}), over({std::nullopt})}, {}).kind, Kind::none);
}

/// All 27 members in order, one at a time, whose values are their numbers: 27, 9 and 3 jobs, by the best.
TEST(Halving, OfAWholeSweepPromotesThirds) {
  std::vector<MemberProgress> members(27);
  const SweepRules rules{.rungs = 3, .factor = 3};
  std::vector<int> jobs(3);
  for (NextJob job = next_job(members, rules); job.kind == Kind::train; job = next_job(members, rules)) {
    MemberProgress& member = members[job.member];
    ASSERT_EQ(member.finished(), job.rung);
    member.values.emplace_back(static_cast<double>(job.member));
    member.is_over = job.rung == 2;
    ++jobs[job.rung];
  }
  EXPECT_EQ(jobs, (std::vector<int>{27, 9, 3}));
  for (const std::size_t best : {0u, 1u, 2u}) EXPECT_TRUE(members[best].is_over) << best;
}

}  // namespace mylos::halving_test
