// The ring of the last 1,000 steps against a list of all steps, and the statistics of a state's counters.
#include "mylos/precision/recent_overflows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "mylos/precision/scaler_statistics.hpp"

namespace mylos::recent_overflows_test {

TEST(RecentOverflows, KnowTheLastThousandSteps) {
  std::mt19937 random(7);
  RecentOverflows ring;
  std::vector<bool> all;
  EXPECT_EQ(ring.rate(), 0);
  for (int step = 0; step < 3500; ++step) {
    const bool overflow = random() % (step < 1800 ? 3 : 40) == 0;
    ring.note(overflow);
    all.push_back(overflow);
    const auto kept = std::min<std::ptrdiff_t>(1000, static_cast<std::ptrdiff_t>(all.size()));
    const auto expected = std::count(all.end() - kept, all.end(), true);
    ASSERT_EQ(ring.overflows, expected) << "step " << step;
    ASSERT_EQ(ring.steps(), kept);
    ASSERT_DOUBLE_EQ(ring.rate(), static_cast<double>(expected) / static_cast<double>(kept));
    const auto fewer = static_cast<std::ptrdiff_t>(random() % 1200);
    const auto asked = std::min(fewer, kept);
    ASSERT_EQ(ring.of_last(fewer), std::count(all.end() - asked, all.end(), true)) << "of the last " << fewer;
  }
}

TEST(ScalerStatistics, AreRatesAndMeansOfTheCounters) {
  ScalerState state;
  const ScalerRule rule{.dynamic = true, .growth_interval = 300};
  state.scale = 1024;
  for (int step = 0; step < 1250; ++step) {
    const bool overflow = step % 250 == 0;  // 5 times, the first of them more than 1,000 steps ago
    rule.advance(state, overflow);
    if (!overflow) state.note_applied(2.0 + step % 2);
  }
  const ScalerStatistics statistics = statistics_of(state);
  EXPECT_EQ(statistics.steps, 1250);
  EXPECT_EQ(statistics.overflows, 5);
  EXPECT_DOUBLE_EQ(statistics.overflow_rate, 0.004);
  EXPECT_EQ(statistics.recent_steps, 1000);
  EXPECT_EQ(statistics.recent_overflows, 4);
  EXPECT_DOUBLE_EQ(statistics.recent_overflow_rate, 0.004);
  EXPECT_EQ(statistics.decreases, 5);
  EXPECT_EQ(statistics.increases, 0);
  EXPECT_EQ(statistics.applied, 1245);
  EXPECT_NEAR(statistics.mean_gradient_norm, 2.5, 1e-2);
  EXPECT_EQ(describe_overflows(statistics), "5 of 1250 steps (0.4 %), 4 of the last 1000 (0.4 %)");
  EXPECT_EQ(describe_scale(statistics), "32, raised 0 times, lowered 5 times");
}

TEST(ScalerStatistics, OfARunThatHasNotBegunAreZero) {
  const ScalerStatistics statistics = statistics_of(ScalerState{});
  EXPECT_EQ(statistics.overflow_rate, 0);
  EXPECT_EQ(statistics.recent_overflow_rate, 0);
  EXPECT_EQ(statistics.mean_gradient_norm, 0);
  EXPECT_EQ(describe_scale(statistics), "1");
}

}  // namespace mylos::recent_overflows_test
