// A row of the history as text, and as a checkpoint holds it.
#include "mylos/train/history/history_columns.hpp"

#include <gtest/gtest.h>

namespace mylos::history_columns_test {

const HistoryRow skipped{.record = {.step = 7,
                                    .updates = 5,
                                    .loss = 0.1234567891,
                                    .gradient_norm = 2.5,
                                    .lr = 0.0009765625f,  // exact
                                    .scale = 65536,
                                    .overflow = 3,
                                    .overflow_rate = 2.0 / 7,
                                    .increases = 4,
                                    .decreases = 1,
                                    .tolerated = 6},
                         .epoch = 1.25,
                         .speed = {.samples_per_s = 4821.34,
                                   .tokens_per_s = 617131.52,
                                   .model_flops_per_s = 3.2109876e11,
                                   .model_flop_utilisation = 0.37123},
                         .communication_s = 0.00123456,
                         .data_wait_s = 3.2e-7,
                         .elapsed_s = 12.3456,
                         .host_bytes = 123456789012,
                         .host_peak_bytes = 123456789013,
                         .device_bytes = 4096};

TEST(HistoryColumns, StandInTheFileInThisOrderAndPrecision) {
  EXPECT_EQ(
      header_of<HistoryTable>(),
      "step,epoch,loss,lr,gradient_norm,scale,overflow,updates,overflow_rate,scale_increases,scale_decreases,"
      "tolerated_overflows,samples_per_s,tokens_per_s,"
      "model_flops_per_s,model_flop_utilisation,communication_s,data_wait_s,elapsed_s,"
      "host_bytes,host_peak_bytes,device_bytes\n");
  EXPECT_EQ(line_of<HistoryTable>(skipped),
            "7,1.25,0.123456789,0.0009765625,2.5,65536,1,5,0.285714,4,1,6,4821.34,617132,3.21099e+11,"
            "0.3712,0.001235,3.2e-07,12.346,123456789012,123456789013,4096\n");
  EXPECT_EQ(computed_part_of<HistoryTable>(line_of<HistoryTable>(skipped)),
            "7,1.25,0.123456789,0.0009765625,2.5,65536,1,5,0.285714,4,1,6");
}

TEST(HistoryColumns, ComeBackFromACheckpointAsTheyWere) {
  HistoryRow other = skipped;
  other.record.step = 8;
  other.record.overflow = 0;
  HistoryColumns saved(std::deque<HistoryRow>{skipped, other});
  CheckpointState state;
  saved.add_to(state);
  ASSERT_EQ(state.arrays.size(), 22u);
  for (const StateArray& array : state.arrays)
    EXPECT_EQ(array.dims, std::vector<std::int64_t>{2}) << array.path;

  const std::deque<HistoryRow> rows = saved.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].record.overflow, skipped.record.overflow) << "which rank it was";
  EXPECT_EQ(line_of<HistoryTable>(rows[0]), line_of<HistoryTable>(skipped));
  EXPECT_EQ(line_of<HistoryTable>(rows[1]), line_of<HistoryTable>(other));
}

}  // namespace mylos::history_columns_test
