// What holds up a step is counted where it is waited for.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "mylos/base/errors/files.hpp"
#include "support/refusal.hpp"
#include "train/synthetic.hpp"

namespace mylos::step_waits_test {

using namespace testing_support;  // NOLINT

constexpr int steps = 3;
constexpr double late_s = 0.02;
// A rank that others keep from computing for a while waits so much less: then the late one is made later.
constexpr double latest_s = 2;

/// Batches that are late on one rank.
class LateBatches final : public BatchSource {
 public:
  LateBatches(BatchSource& batches, double sleep_s) : batches_(batches), sleep_s_(sleep_s) {}
  MicroBatch next(const Execution& exec) override {
    if (sleep_s_ > 0) std::this_thread::sleep_for(std::chrono::duration<double>(sleep_s_));
    return batches_.next(exec);
  }

 private:
  BatchSource& batches_;
  double sleep_s_;
};

/// What a rank waits in steps for which the last rank's batches are late by so much.
StepWaits waits_of_steps(SmallRun& run, double sleep_s) {
  const bool is_last = run.communicator->rank() == run.communicator->size() - 1;
  LateBatches batches(*run.batches, is_last ? sleep_s : 0);
  const StepWaits before = run.trainer->waits();
  for (int i = 0; i < steps; ++i) run.trainer->step(batches, false);
  run.trainer->quiesce();
  run.communicator->synchronize(run.trainer->execution());  // ranks exchange something by MPI next
  const StepWaits after = run.trainer->waits();
  return {after.communication_s - before.communication_s, after.data_s - before.data_s};
}

TEST(StepWaits, ARankWaitsForItsDataAndTheOthersForThatRank) {
  SmallRun run(small_options(DType::bf16));
  RankGroup& ranks = run.communicator->ranks();
  const bool is_last = ranks.rank() == ranks.size() - 1;
  const bool waits_for_last = !is_last && !run.communicator->runs_on_device();  // else the device waits
  bool all_waited = false;
  for (double sleep_s = late_s; !all_waited && sleep_s <= latest_s; sleep_s *= 4) {
    const StepWaits waits = waits_of_steps(run, sleep_s);
    if (is_last) {
      EXPECT_GE(waits.data_s, steps * sleep_s);
    }
    const char waited = !waits_for_last || (waits.communication_s > 0.5 * steps * sleep_s &&
                                            waits.data_s < 0.5 * steps * sleep_s);
    std::vector<char> of_ranks(static_cast<std::size_t>(ranks.size()));
    ranks.all_gather(&waited, of_ranks.data(), sizeof waited);
    all_waited = std::all_of(of_ranks.begin(), of_ranks.end(), [](char done) { return done != 0; });
  }
  EXPECT_TRUE(all_waited) << "rank " << ranks.rank() << " or another did not count its wait";
}

TEST(StepWaits, ABatchThatCannotBeReadWasWaitedForToo) {
  class Unreadable final : public BatchSource {
    MicroBatch next(const Execution&) override {
      std::this_thread::sleep_for(std::chrono::duration<double>(late_s));
      fail_run(errors::cannot_write, "the disk is gone");
    }
  };
  SmallRun run(small_options(DType::fp32));
  Unreadable batches;
  run.trainer->step(batches, false);
  run.trainer->quiesce();
  EXPECT_GE(run.trainer->waits().data_s, late_s);
  EXPECT_TRUE(test::refuses(errors::cannot_write, {"the disk is gone"},
                            [&] { run.trainer->throw_if_failed(run.trainer->quiesce()); }));
}

}  // namespace mylos::step_waits_test
