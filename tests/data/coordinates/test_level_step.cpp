#include "mylos/data/coordinates/level_step.hpp"

#include <gtest/gtest.h>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/samples.hpp"
#include "support/said.hpp"

namespace mylos::level_step_test {

using test::cause_of;

bool same(const LevelStep& expected, const LevelStep& step) {
  return cause_of([&] { require_same_step(expected, "a", step, "b"); }).empty();
}

TEST(LevelStep, IsComparedInUnitsOfTime) {
  EXPECT_TRUE(same({6, "hours"}, {0.25, "days"}));
  EXPECT_TRUE(same({6, "h"}, {21600, "s"}));
  EXPECT_FALSE(same({6, "hours"}, {1, "hours"}));
  EXPECT_FALSE(same({6, "hours"}, {6, "days"}));
  EXPECT_TRUE(same({30, "days"}, {31, "days"})) << "months";
  EXPECT_TRUE(same({31, "days"}, {28, "days"}));
  EXPECT_FALSE(same({24, "days"}, {25, "days"}));
  EXPECT_TRUE(same({6, "hours"}, {6.1, "hours"})) << "rounded";
  EXPECT_FALSE(same({6, "hours"}, {6.5, "hours"}));
  EXPECT_TRUE(same({6, "hours"}, {.length = 6.5, .unit = "hours", .varies = true})) << "of two levels";
  EXPECT_FALSE(same({0.1, ""}, {0.105, ""}));
  EXPECT_TRUE(same({0.5, "months"}, {0.5, "months"}));
  EXPECT_FALSE(same({1, "months"}, {1, "days"}));
  EXPECT_TRUE(same({1, "days"}, {1, ""})) << "one states no unit";
  EXPECT_TRUE(same({}, {1, "days"}));
  EXPECT_EQ(cause_of([] {
              require_same_step({6, "h"}, "a", {1, "h"}, "b");
            }),
            name_of(errors::data_mismatch));
}

TEST(LevelStep, RequiresOneCalendar) {
  EXPECT_TRUE(same({6, "hours", "noleap"}, {6, "hours", "noleap"}));
  EXPECT_TRUE(same({6, "hours", "noleap"}, {6, "hours"})) << "one states none";
  EXPECT_FALSE(same({6, "hours", "noleap"}, {6, "hours", "gregorian"}));
  EXPECT_FALSE(same({0, "", "noleap"}, {0, "", "360_day"})) << "of single levels";
}

TEST(LevelStep, RequiresTheSameInstants) {
  const auto is_same = [](const LevelTimes& expected, const LevelTimes& times) {
    return cause_of([&] { require_same_instants(expected, "a", times, "b"); }).empty();
  };
  const LevelTimes times{Calendar::noleap, {0, day_ms, 2 * day_ms}};
  EXPECT_TRUE(is_same(times, {Calendar::noleap, {day_ms / 10, day_ms, 2 * day_ms, 3 * day_ms}}));
  EXPECT_FALSE(is_same(times, {Calendar::noleap, {0, day_ms, 3 * day_ms}}));
  EXPECT_FALSE(is_same({Calendar::noleap, {0}}, {Calendar::noleap, {day_ms, 2 * day_ms}}));
  EXPECT_TRUE(is_same({}, times));
}

TEST(LevelStep, ReturnsExactlyFromItsText) {
  for (const LevelStep& step :
       {LevelStep{1.0 / 3, "days"}, LevelStep{2, ""}, LevelStep{1, "model steps"},
        LevelStep{6, "hours", "noleap"}, LevelStep{0, "", "gregorian"}, LevelStep{2, "", "julian"}})
    EXPECT_EQ(step_of_text(text_of_step(step), "here"), step);
  for (const char* bad : {"", "h", "-1 h", "0 h", "nan h", "1h"})
    EXPECT_EQ(cause_of([&] { static_cast<void>(step_of_text(bad, "here")); }), name_of(errors::damaged))
        << bad;
}

}  // namespace mylos::level_step_test
