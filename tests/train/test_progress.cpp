// What a progress line says, and that a live one fits its terminal.
#include "mylos/train/history/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace mylos::progress_test {

HistoryRow sample_row() {
  HistoryRow row;
  row.record.step = 120;
  row.record.loss = 0.4312;
  row.record.gradient_norm = 0.912;
  row.record.lr = 6e-4f;
  row.record.scale = 65536;
  row.epoch = 0.51;
  row.speed = {.samples_per_s = 48210, .model_flop_utilisation = 0.3741};
  return row;
}

/// Columns of UTF-8 text: the bytes that begin a character.
std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

TEST(Progress, ALineSaysEverything) {
  HistoryRow row = sample_row();
  EXPECT_EQ(progress_line(row, 2808, 65),
            "step 120/2808  epoch 0.51  loss 0.4312  lr 6.00e-04  |g| 0.912  scale 65536  48210 samples/s  "
            "37.4 % of peak  ETA 1:05");
  EXPECT_LT(progress_line(row, 2808, 65).size(), 120u);
  row.speed.tokens_per_s = 128 * 48210;
  EXPECT_THAT(progress_line(row, 2808, 65), testing::HasSubstr("  6170880 tokens/s  37.4 % of peak"));
  row.record.overflow = 1;
  EXPECT_TRUE(progress_line(row, 2808, 65).ends_with("  skipped"));
  row.speed.model_flop_utilisation = 0;
  EXPECT_THAT(progress_line(row, 2808, 65), testing::HasSubstr("  6170880 tokens/s  ETA 1:05"))
      << "not known";
}

TEST(Progress, ALiveLineIsNeverWiderThanTheTerminal) {
  HistoryRow row = sample_row();
  for (const std::int32_t overflow : {0, 1}) {
    row.record.overflow = overflow;
    for (int columns = 0; columns <= 200; ++columns) {
      EXPECT_LE(columns_of(live_line(row, 2808, 65, columns)),
                static_cast<std::size_t>(std::max(columns - 1, 0)));
    }
  }
}

TEST(Progress, ANarrowTerminalGetsTheBarAndWhatMattersMost) {
  using testing::HasSubstr;
  using testing::Not;
  const HistoryRow row = sample_row();
  const std::string wide = live_line(row, 2808, 65, 200);
  EXPECT_TRUE(wide.ends_with(" " + progress_line(row, 2808, 65)));
  EXPECT_EQ(live_line(row, 2808, 65, 80),
            "█░░░░░░░░░░░░░░░░░░░░░░░ step 120/2808  loss 0.4312  48210 samples/s  ETA 1:05");
  EXPECT_EQ(live_line(row, 2808, 65, 50), "step 120/2808  loss 0.4312  ETA 1:05");
  EXPECT_THAT(live_line(row, 2808, 65, 100),
              testing::AllOf(HasSubstr("█"), HasSubstr("epoch 0.51"), Not(HasSubstr("scale"))));
}

}  // namespace mylos::progress_test
