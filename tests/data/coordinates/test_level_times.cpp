#include "mylos/data/coordinates/level_times.hpp"

#include <gtest/gtest.h>

#include "mylos/base/errors/samples.hpp"
#include "support/refusal.hpp"

namespace mylos::level_times_test {

using test::refuses;

Instant instant_of(const char* units, double value, Calendar calendar) {
  return CfTime::of(units, calendar).value().instant(value).value();
}

TEST(LevelTimes, ContinueBeyondTheLast) {
  EXPECT_EQ((LevelTimes{Calendar::standard, {10, 16}}.at(3, 99)), 28);
  EXPECT_EQ((LevelTimes{Calendar::standard, {10}}.at(2, 5)), 20);
  EXPECT_EQ((LevelTimes{Calendar::standard, {10, 16}}.at(0, 5)), 10);
  EXPECT_EQ((LevelTimes{Calendar::standard, {10, 16, 22, 90}}.at(4, 99)), 96) << "a gap is no usual step";
  EXPECT_EQ((LevelTimes{Calendar::standard, {0, 6000, 11999, 18000}}.at(5, 0)), 30000) << "rounded";
}

TEST(LevelTimes, ContinueByMonthsAndYears) {
  const auto later = [](const std::vector<const char*>& days, std::int64_t level, Calendar calendar) {
    std::vector<Instant> instants;
    for (const std::string day : days)
      instants.push_back(CfTime::of("days since " + day, calendar).value().instant(0.5).value());
    return text_of(calendar, LevelTimes(calendar, instants).at(level, 0));
  };
  EXPECT_EQ(later({"2000-02-16", "2000-03-16"}, 25, Calendar::standard), "2002-03-16 12:00:00");
  EXPECT_EQ(later({"2001-11-30", "2001-12-31"}, 3, Calendar::proleptic_gregorian), "2002-02-28 12:00:00");
  EXPECT_EQ(later({"2001-01-01", "2001-02-01", "2001-03-01"}, 12, Calendar::noleap), "2002-01-01 12:00:00");
  EXPECT_EQ(later({"2001-01-15", "2001-02-15"}, 12, Calendar::days_360), "2002-01-15 12:00:00");
  EXPECT_EQ(later({"2003-01-01", "2004-01-01"}, 2, Calendar::standard), "2005-01-01 12:00:00");
  EXPECT_EQ(later({"2001-01-01", "2001-01-31", "2001-03-02"}, 3, Calendar::standard), "2001-04-01 12:00:00")
      << "30 days";
  EXPECT_EQ(later({"2001-01-01", "2001-01-31"}, 2, Calendar::standard), "2001-03-02 12:00:00") << "30 days";
}

TEST(LevelTimes, DoNotContinueBackwardsOrForAMillionYears) {
  for (const auto& times :
       {LevelTimes{Calendar::standard, {16, 10}}, LevelTimes{Calendar::standard, {16, 16}},
        LevelTimes{Calendar::standard, {0, 300'000 * 365 * day_ms}}})
    EXPECT_TRUE(refuses(errors::data_mismatch, {"level 9"}, [&] { (void)times.at(9, 0); }));
}

TEST(LevelTimes, CompareTheGregorianCalendars) {
  const auto name = [](Calendar calendar, const char* units) {
    return comparable_calendar({calendar, {instant_of(units, 0, calendar)}});
  };
  EXPECT_EQ(name(Calendar::standard, "days since 1582-10-15"), "standard (Gregorian)");
  EXPECT_EQ(name(Calendar::proleptic_gregorian, "days since 2000-01-01"), "proleptic_gregorian (Gregorian)");
  EXPECT_EQ(name(Calendar::standard, "days since 1582-10-04"), "standard");
  EXPECT_EQ(name(Calendar::noleap, "days since 2000-01-01"), "noleap");
  EXPECT_EQ(comparable_calendar({}), "");
  EXPECT_TRUE(are_same_calendar("standard (Gregorian)", "proleptic_gregorian (Gregorian)"));
  EXPECT_TRUE(are_same_calendar("standard (Gregorian)", "standard"));
  EXPECT_FALSE(are_same_calendar("standard (Gregorian)", "proleptic_gregorian"));
  EXPECT_FALSE(are_same_calendar("standard", "proleptic_gregorian"));
  EXPECT_EQ(common_calendar("standard (Gregorian)", "proleptic_gregorian (Gregorian)"),
            "standard (Gregorian)");
  EXPECT_EQ(common_calendar("standard (Gregorian)", "standard"), "standard");
}

}  // namespace mylos::level_times_test
