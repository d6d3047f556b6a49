// What `mylos report` reduces and escapes: curves, grids, decks, and JSON within a page.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "../../apps/mylos/report/deck_lines.hpp"
#include "../../apps/mylos/report/report_json.hpp"
#include "../../apps/mylos/report/step_curves.hpp"
#include "../../apps/mylos/report/step_grid.hpp"
#include "../../apps/mylos/report/thinned_steps.hpp"
#include "mylos/io/tables/csv_rows.hpp"

namespace mylos::app {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(StepCurves, KeepsEveryStepWhileThereIsRoom) {
  StepCurves curves(1, 100);
  for (std::int64_t step = 1; step <= 100; ++step)
    curves.add(step, std::array{1.0 / static_cast<double>(step)});
  ASSERT_EQ(curves.points().size(), 100U);
  EXPECT_EQ(curves.width(), 1);
  EXPECT_EQ(curves.points()[41].first, 42);
  EXPECT_EQ(curves.points()[41].values[0].mean(), 1.0 / 42);
}

TEST(StepCurves, ASpikeOfOneStepStaysVisibleAmongAHundredThousand) {
  StepCurves curves(1, 2000);
  double sum = 0;
  for (std::int64_t step = 1; step <= 100'000; ++step) {
    const double value = step == 77'777 ? 1e6 : 2.0 + 0.1 * std::sin(static_cast<double>(step));
    sum += value;
    curves.add(step, std::array{value});
  }
  EXPECT_LE(curves.points().size(), 2000U);
  EXPECT_GT(curves.points().size(), 1000U);
  double found = 0;
  std::int64_t count = 0;
  for (const auto& point : curves.points()) {
    found += point.values[0].sum;
    count += point.values[0].count;
    const bool holds_it = point.first <= 77'777 && 77'777 <= point.last;
    EXPECT_EQ(point.values[0].largest == 1e6, holds_it);
    EXPECT_LT(point.values[0].least, 2.2);
  }
  EXPECT_EQ(count, 100'000);
  EXPECT_NEAR(found, sum, 1e-6 * sum);
}

TEST(StepCurves, LeavesOutWhatIsNotFiniteAndTakesStepsInAnyOrder) {
  StepCurves curves(2, 4);
  for (const std::int64_t step : {9, 1, 8, 2, 7, 3, 6, 4, 5, 5})
    curves.add(step, std::array{step == 3 ? nan : static_cast<double>(step), nan});
  std::int64_t count = 0;
  std::int64_t before = -1;
  for (const auto& point : curves.points()) {
    EXPECT_GT(point.first, before);
    EXPECT_GE(point.last, point.first);
    before = point.last;
    count += point.values[0].count;
    EXPECT_EQ(point.values[1].count, 0);
  }
  EXPECT_EQ(count, 9);
  EXPECT_LE(curves.points().size(), 4U);
}

TEST(StepCurves, OneMadStepDoesNotCoarsenTheOthers) {
  StepCurves curves(1, 100);
  curves.add(max_step, std::array{1.0});
  for (std::int64_t step = 1; step < 100; ++step) curves.add(step, std::array{1.0});
  EXPECT_EQ(curves.width(), 1);
}

TEST(ThinnedSteps, KeepsAllUpToTheBoundThenOneInAPowerOfTwo) {
  ThinnedSteps few(2000);
  ThinnedSteps many(2000);
  for (std::int64_t step = 0; step < 2000; ++step) few.add(step);
  for (std::int64_t step = 0; step < 9000; ++step) many.add(step);
  EXPECT_EQ(few.steps().size(), 2000U);
  EXPECT_EQ(few.every(), 1);
  EXPECT_EQ(many.total(), 9000);
  EXPECT_EQ(many.every(), 8);
  EXPECT_EQ(many.steps().size(), 1125U);
  for (std::size_t i = 0; i < many.steps().size(); ++i)
    EXPECT_EQ(many.steps()[i], static_cast<std::int64_t>(8 * i));
}

TEST(StepGrid, KeepsTheLargestOfACellAndMarksWhatIsBroken) {
  StepGrid grid(10, 5, 1000);
  for (std::int64_t step = 0; step < 40; ++step) {
    grid.add(step, "a", step == 13 ? 99.0 : 1.0, false);
    grid.add(step, "b", step == 21 ? nan : 2.0, false);
  }
  ASSERT_EQ(grid.columns().size(), 5U);
  for (const auto& column : grid.columns()) {
    EXPECT_EQ(column.values[0].value, column.first <= 13 && 13 <= column.last ? 99.0 : 1.0);
    EXPECT_EQ(column.values[1].value, 2.0);
    EXPECT_FALSE(column.values[0].broken);
    EXPECT_EQ(column.values[1].broken, column.first <= 21 && 21 <= column.last);
  }
}

TEST(StepGrid, IsBoundedInNamesAndCells) {
  StepGrid grid(50, 200, 1000);
  for (std::int64_t step = 0; step < 300; ++step)
    for (int name = 0; name < 80; ++name) grid.add(step, "parameter" + std::to_string(name), 1, false);
  EXPECT_EQ(grid.names().size(), 50U);
  EXPECT_TRUE(grid.has_more_names());
  EXPECT_LE(grid.columns().size() * grid.names().size(), 1000U);
}

TEST(DeckLines, ReadsWhatARunEchoes) {
  const DeckLines deck(
      "# made by\n[run]\nname = \"a # b\"  # a comment\n\n[data]\nbatch = 256\nx = [1, 2]\nnonsense\n");
  ASSERT_EQ(deck.keys().size(), 3U);
  EXPECT_EQ(deck.value("run.name"), "a # b");
  EXPECT_EQ(deck.number("data.batch"), 256);
  EXPECT_EQ(deck.keys()[2].second, "[1, 2]");
  EXPECT_EQ(deck.value("run.other"), "");
}

TEST(DeckLines, MakesOneKeyOfEachTableOfAList) {
  const DeckLines deck(
      "[model]\nloss = \"mse\"\n\n[[model.layers]]\nkind = \"conv\"\nkernel = 3\n\n[[model.layers]]\n"
      "kind = \"dense\"\n\n[memory]\ntimes = \"auto\"\n");
  ASSERT_EQ(deck.keys().size(), 4U);
  EXPECT_EQ(deck.value("model.loss"), "mse");
  EXPECT_EQ(deck.value("model.layers.1"), "kind = \"conv\", kernel = 3");
  EXPECT_EQ(deck.value("model.layers.2"), "kind = \"dense\"");
  EXPECT_EQ(deck.value("memory.times"), "auto");
}

TEST(ScriptText, NothingWithinItEndsTheElement) {
  const std::string text = script_text({{"name", "</script><!-- <b> & \xff \xe2\x80\xa8 \" \\"}});
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  for (const char c : text) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  const auto read = ordered_json::parse(text);
  EXPECT_EQ(read["name"], "</script><!-- <b> & \xef\xbf\xbd \xe2\x80\xa8 \" \\");
}

TEST(ShortNumber, HasSixDigitsAndNullForWhatJsonCannotSay) {
  EXPECT_EQ(short_number(0.1F).dump(), "0.1");
  EXPECT_EQ(short_number(65536).dump(), "65536");
  EXPECT_EQ(short_number(1.23456789e-12).dump(), "1.23457e-12");
  EXPECT_TRUE(short_number(nan).is_null());
  EXPECT_TRUE(short_number(std::numeric_limits<double>::infinity()).is_null());
}

}  // namespace
}  // namespace mylos::app
