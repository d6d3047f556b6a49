// What a run says of its steps, and what of it comes back from a checkpoint.
#include "mylos/train/run/components/run_log.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "train/synthetic.hpp"

namespace mylos::run_log_test {

using namespace testing_support;  // NOLINT

struct Said {
  std::vector<std::string> lines;
  [[nodiscard]] Output output() {
    return {.line = [this](const std::string& line) { lines.push_back(line); }};
  }
};

TEST(RunLog, GoesOnAfterARestartWhereTheCheckpointWasWritten) {
  SmallRun run(small_options(DType::bf16));
  RankGroup& ranks = run.communicator->ranks();
  const test::SharedFolder folder(ranks);
  const RunPosition position{.epochs = {.length = 64, .batch = 32}, .total = 10};
  for (int i = 0; i < 3; ++i) run.step();
  RunClock clock;
  clock.continue_from(100);  // seconds of earlier starts
  RunLog log({}, "", "", position.total);
  log.write_rows(*run.trainer, 3, position, clock);
  log.record({3, "warning", "loss", "", "jumps"});
  CheckpointState saved;
  log.save(saved);
  const std::string file = folder.path() + "/log.h5";
  write_checkpoint_file(ranks, file, {}, saved);

  RunLog restored({}, "", "", position.total);
  RunClock fresh;
  CheckpointState room;
  const CheckpointReader reader(ranks, file);
  restored.make_room(reader, room);
  reader.read(room);
  EXPECT_EQ(restored.restore(room, file, 3, fresh), "");
  EXPECT_EQ(restored.events().all(), log.events().all());
  EXPECT_EQ(restored.written(), 3);
  EXPECT_GE(fresh.elapsed_s(), 100);
  run.step();
  restored.write_rows(*run.trainer, 4, position, fresh);
  std::vector<std::uint64_t> steps;
  for (const HistoryRow& row : restored.history().tail()) steps.push_back(row.record.step);
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_DOUBLE_EQ(restored.history().tail().back().epoch, 2);
}

TEST(RunLog, HasARowForEveryStepHoweverRarelyProgressIsShown) {
  SmallRun run(small_options(DType::fp32));
  const RunPosition position{.epochs = {.length = 64, .batch = 32}, .total = 10'000};
  const std::int64_t steps = Trainer::record_capacity + 20;
  RunLog log({}, "", "", position.total);
  RunClock clock;
  for (std::int64_t step = 1; step <= steps; ++step) {
    run.trainer->step(*run.batches, false);
    run.trainer->quiesce();
    if (log.is_due(step)) log.write_rows(*run.trainer, step, position, clock);
  }
  EXPECT_EQ(log.written(), Trainer::record_capacity);
  log.write_rows(*run.trainer, steps, position, clock);
  std::uint64_t expected = static_cast<std::uint64_t>(steps);
  const auto& rows = log.history().tail();
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) EXPECT_EQ(row->record.step, expected--);
  EXPECT_THROW((void)run.trainer->read_records(0, Trainer::record_capacity + 1), Error);
}

/// A checkpoint whose history lacks this column.
std::string without_column(RankGroup& ranks, const std::string& folder, const std::string& column) {
  History history("");
  const HistoryRow row{.record = {.step = 1, .loss = 0.5},
                       .speed = {.samples_per_s = 20, .tokens_per_s = 160},
                       .elapsed_s = 7};
  history.append({&row, 1});
  CheckpointState state;
  history.save(state);
  std::erase_if(state.arrays, [&](const StateArray& array) { return array.path == "/history/" + column; });
  const std::string file = folder + "/without_" + column + ".h5";
  write_checkpoint_file(ranks, file, {}, state);
  return file;
}

TEST(RunLog, GoesOnFromACheckpointThatKnewNoSpeeds) {
  const SmallRun run(small_options(DType::fp32));
  RankGroup& ranks = run.communicator->ranks();
  const test::SharedFolder folder(ranks);
  const CheckpointReader older(ranks, without_column(ranks, folder.path(), "tokens_per_s"));
  RunLog log({}, "", "", 10);
  RunClock clock;
  CheckpointState room;
  log.make_room(older, room);
  older.read(room);
  EXPECT_EQ(log.restore(room, "older", 1, clock), "");
  EXPECT_TRUE(log.events().all().empty());
  ASSERT_EQ(log.history().tail().size(), 1u);
  const HistoryRow& row = log.history().tail().front();
  EXPECT_DOUBLE_EQ(row.speed.samples_per_s, 20);
  EXPECT_EQ(row.speed.tokens_per_s, 0);
  EXPECT_GE(clock.elapsed_s(), 7);
}

TEST(RunLog, IsNotReadWithoutWhatStepsComputed) {
  const SmallRun run(small_options(DType::fp32));
  RankGroup& ranks = run.communicator->ranks();
  const test::SharedFolder folder(ranks);
  const CheckpointReader torn(ranks, without_column(ranks, folder.path(), "loss"));
  RunLog log({}, "", "", 10);
  CheckpointState room;
  log.make_room(torn, room);
  EXPECT_THROW(torn.read(room), Error);
}

TEST(RunLog, CountsAndSaysWhatWasSkipped) {
  Options options = small_options(DType::fp16);
  options.precision.scaler.initial_scale = 16777216;  // gradients overflow until it is lower
  SmallRun run(options);
  Said said;
  RunLog log(said.output(), "", "", 10);
  RunClock clock;
  run.step();
  log.write_rows(*run.trainer, 1, {.epochs = {.length = 64, .batch = 32}, .total = 10}, clock);
  EXPECT_EQ(log.skipped(), 1);
  ASSERT_EQ(said.lines.size(), 1u);
  EXPECT_EQ(said.lines[0].find("step 1: overflow on rank "), 0u) << said.lines[0];
}

TEST(RunLog, TellsSpeedsOfTheStepsSinceTheRowsBefore) {
  SmallRun run(small_options(DType::fp32));
  RunLog log({}, "", "", 10);
  log.set_work({.tokens_of_sample = 8, .sample = {.model = 5e3}, .peak_flops = 1e12});  // never reached
  const RunPosition position{.epochs = {.length = 64, .batch = 32}, .total = 10};
  RunClock clock;
  for (int i = 0; i < 2; ++i) run.step();
  log.write_rows(*run.trainer, 2, position, clock);
  clock.count(&TimeParts::other_s);
  const TimeParts before = clock.parts();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  clock.count(&TimeParts::evaluation_s);  // which is in no speed
  for (int i = 0; i < 3; ++i) run.step();
  log.write_rows(*run.trainer, 5, position, clock);
  const HistoryRow& row = log.history().tail().back();
  // Both rows' times together are all that was trained.
  const HistoryRow& first = log.history().tail().front();
  const double first_s = 2 * 32 / first.speed.samples_per_s;
  const double second_s = 3 * 32 / row.speed.samples_per_s;
  EXPECT_NEAR(first_s + second_s, clock.parts().training_s(), 1e-9);
  EXPECT_NEAR(second_s, clock.parts().training_s() - before.training_s() + before.other_s, 1e-9);
  EXPECT_DOUBLE_EQ(row.speed.tokens_per_s, 8 * row.speed.samples_per_s);
  EXPECT_DOUBLE_EQ(row.speed.model_flops_per_s, 5e3 * row.speed.samples_per_s);
  EXPECT_DOUBLE_EQ(row.speed.model_flop_utilisation, 5e-9 * row.speed.samples_per_s);
  EXPECT_NEAR(3 * row.communication_s, clock.parts().communication_s - before.communication_s, 1e-12);
  EXPECT_NEAR(3 * row.data_wait_s, clock.parts().data_s - before.data_s, 1e-12);
}

TEST(RunLog, HasTheMemoryAtTheLogPoint) {
  SmallRun run(small_options(DType::fp32));
  RunLog log({}, "", "", 10);
  const RunPosition position{.epochs = {.length = 64, .batch = 32}, .total = 10};
  RunClock clock;
  run.step();
  log.write_rows(*run.trainer, 1, position, clock);
  constexpr std::int64_t more = 64 << 20;
  {
    std::vector<char> taken(more, 'x');  // written, so that it is resident
    run.step();
    log.write_rows(*run.trainer, 2, position, clock);
  }
  run.step();
  log.write_rows(*run.trainer, 3, position, clock);
  const auto& rows = log.history().tail();
  EXPECT_GE(rows[1].host_bytes, rows[0].host_bytes + more / 2);
  EXPECT_LE(rows[2].host_bytes, rows[1].host_bytes - more / 2);
  EXPECT_GE(rows[2].host_peak_bytes, rows[1].host_bytes - more / 16);
  EXPECT_EQ(rows[0].device_bytes > 0, !memory_is_host);
}

TEST(RunLog, SaysOnceThatThePeakIsNotKnownAndNoShareOfItFromThenOn) {
  SmallRun run(small_options(DType::fp32));
  Said said;
  RunLog log(said.output(), "", "", 10);
  log.set_work({.sample = {.model = 5e6}, .peak_flops = 1e-3});  // every step is faster
  const RunPosition position{.epochs = {.length = 64, .batch = 32}, .total = 10};
  RunClock clock;
  double peak = 0;
  for (int step = 1; step <= 3; ++step) {
    run.step();
    log.write_rows(*run.trainer, step, position, clock);
    log.show_progress(1);
    peak = std::max(peak, log.history().tail().back().speed.model_flops_per_s);
    EXPECT_LE(log.history().tail().back().speed.model_flop_utilisation, 1);
  }
  EXPECT_EQ(log.work().peak_flops, peak);
  ASSERT_EQ(said.lines.size(), 4u) << "three progress lines and one more";
  EXPECT_EQ(said.lines[0].find("step 1: peak not known: "), 0u) << said.lines[0];
  for (const std::string& line : said.lines) EXPECT_EQ(line.find("% of peak"), std::string::npos) << line;
}

TEST(RunLog, SaysTheSameWarningOnce) {
  Said said;
  RunLog log(said.output(), "", "", 10);
  for (const char* text : {"full", "full", "gone", "full"}) log.warn(text);
  EXPECT_EQ(said.lines, (std::vector<std::string>{"warning: full", "warning: gone", "warning: full"}));
}

}  // namespace mylos::run_log_test
