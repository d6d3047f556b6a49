// What holds up a step is counted where it is waited for.
#include <gtest/gtest.h>

#include <thread>

#include "train/synthetic.hpp"

namespace mylos::step_waits_test {

using namespace testing_support;  // NOLINT

constexpr int steps = 5;
constexpr double late_s = 0.02;

/// Batches that are late on one rank.
class LateBatches final : public BatchSource {
 public:
  LateBatches(BatchSource& batches, bool is_late) : batches_(batches), is_late_(is_late) {}
  MicroBatch next(const Execution& exec) override {
    if (is_late_) std::this_thread::sleep_for(std::chrono::duration<double>(late_s));
    return batches_.next(exec);
  }

 private:
  BatchSource& batches_;
  bool is_late_;
};

TEST(StepWaits, ARankWaitsForItsDataAndTheOthersForThatRank) {
  SmallRun run(small_options(DType::bf16));
  const int rank = run.communicator->rank();
  const int last = run.communicator->size() - 1;
  LateBatches batches(*run.batches, rank == last);
  for (int i = 0; i < steps; ++i) run.trainer->step(batches, false);
  const StepWaits& waits = run.trainer->waits();
  if (rank == last) {
    EXPECT_GE(waits.data_s, steps * late_s);
  } else if (!run.communicator->runs_on_device()) {  // else it is the device that waits
    // They begin a step together; the batches of these ranks take a moment too.
    EXPECT_GE(waits.communication_s + waits.data_s, 0.9 * steps * late_s);
    EXPECT_GT(waits.communication_s, 0.5 * steps * late_s);
  }
}

TEST(StepWaits, ABatchThatCannotBeReadWasWaitedForToo) {
  class Unreadable final : public BatchSource {
    MicroBatch next(const Execution&) override {
      std::this_thread::sleep_for(std::chrono::duration<double>(late_s));
      fail_run("the disk is gone");
    }
  };
  SmallRun run(small_options(DType::fp32));
  Unreadable batches;
  run.trainer->step(batches, false);
  EXPECT_GE(run.trainer->waits().data_s, late_s);
  EXPECT_THROW(run.trainer->throw_if_failed(), Error);
}

}  // namespace mylos::step_waits_test
