// WorkRecorder with a device that captures calls instead of kernels, alone and among ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "mylos/base/device/work_recorder.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/execution.hpp"

namespace mylos::test_work_recorder {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Submission = WorkRecorder::Submission;
using Log = std::vector<std::string>;

constexpr WorkRecorder::Key key{1};
constexpr WorkRecorder::Key other_key{2};

/// Logs what is launched.
class LoggedWork final : public CapturedWork {
 public:
  explicit LoggedWork(Log& log) : log_(log) {}
  ~LoggedWork() override { log_.emplace_back("destroyed"); }
  void launch(const Execution&) override { log_.emplace_back("launched"); }

 private:
  Log& log_;
};

struct Refusals {
  std::string of_begin = {};
  std::string of_end = {};
};

class LoggedCapture final : public GraphCapture {
 public:
  LoggedCapture(Log& log, const Refusals& refusals) : log_(log), refusals_(refusals) {}
  std::string begin(const Execution&) override {
    log_.emplace_back("begin");
    return refusals_.of_begin;
  }
  std::unique_ptr<CapturedWork> end(const Execution&, std::string& refusal) override {
    log_.emplace_back("end");
    refusal = refusals_.of_end;
    return refusal.empty() ? std::make_unique<LoggedWork>(log_) : nullptr;
  }

 private:
  Log& log_;
  const Refusals& refusals_;
};

/// A recorder whose work, agreements and device write to a log.
class RecordedWork : public testing::Test {
 protected:
  ~RecordedWork() override { log.clear(); }

  [[nodiscard]] std::unique_ptr<GraphCapture> capture() {
    return std::make_unique<LoggedCapture>(log, refusals);
  }
  /// Of several ranks; `others` answer in turn whether all other ranks have agreed.
  [[nodiscard]] WorkRecorder::Ranks ranks(std::vector<bool> others) {
    return {.all =
                [this, others = std::move(others), i = std::size_t{0}](bool own) mutable {
                  log.emplace_back(own ? "yes" : "no");
                  return others[i++] && own;
                },
            .undo = [this] { log.emplace_back("undo"); }};
  }
  Submission submit(WorkRecorder& recorder, const WorkRecorder::Key& of = key) {
    log.clear();
    return recorder.submit(exec, of, [this] { log.emplace_back("work"); });
  }

  Execution exec;
  Log log;
  Refusals refusals;
};

TEST_F(RecordedWork, IsCalledTwiceThenLaunched) {
  WorkRecorder recorder(true, {}, capture());
  EXPECT_FALSE(recorder.captures(key));
  EXPECT_EQ(submit(recorder), Submission::directly);
  EXPECT_THAT(log, ElementsAre("work"));
  EXPECT_TRUE(recorder.captures(key));
  EXPECT_EQ(submit(recorder), Submission::captured);
  EXPECT_THAT(log, ElementsAre("begin", "work", "end", "launched"));
  EXPECT_EQ(submit(recorder), Submission::launched);
  EXPECT_THAT(log, ElementsAre("launched"));
  EXPECT_EQ(submit(recorder, other_key), Submission::directly) << "every key for itself";
  recorder.forget();
  EXPECT_EQ(submit(recorder), Submission::directly);
  EXPECT_EQ(recorder.take_refusal(), "");
}

TEST_F(RecordedWork, IsCalledWhereNothingIsRecorded) {
  WorkRecorder off(false, {}, capture());
  WorkRecorder without_device(true, {}, nullptr);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(submit(off), Submission::directly);
    EXPECT_EQ(submit(without_device), Submission::directly);
    EXPECT_FALSE(off.captures(key) || without_device.captures(key));
  }
}

TEST_F(RecordedWork, IsCalledFromThenOnIfTheDeviceRefuses) {
  for (const bool at_begin : {true, false}) {
    (at_begin ? refusals.of_begin : refusals.of_end) = "no graphs";
    WorkRecorder recorder(true, {}, capture());
    submit(recorder);
    EXPECT_EQ(submit(recorder), Submission::directly);
    EXPECT_EQ(log.back(), "work");
    EXPECT_EQ(submit(recorder), Submission::directly);
    EXPECT_THAT(log, ElementsAre("work"));
    EXPECT_EQ(recorder.take_refusal(), "no graphs");
    EXPECT_EQ(recorder.take_refusal(), "") << "once";
    refusals = {};
  }
}

TEST_F(RecordedWork, ThrowsAgainIfTheCaptureWasNotTheReason) {
  WorkRecorder recorder(true, {}, capture());
  submit(recorder);
  const auto failing = [] { fail_run(errors::internal, "a row is damaged"); };
  EXPECT_THROW(recorder.submit(exec, key, failing), Error);
  EXPECT_THAT(recorder.take_refusal(), HasSubstr("a row is damaged"));
}

TEST_F(RecordedWork, OfRanksIsLaunchedAfterAllHaveCaptured) {
  WorkRecorder recorder(true, ranks({true, true}), capture());
  EXPECT_EQ(submit(recorder), Submission::directly);
  EXPECT_THAT(log, ElementsAre("work")) << "no agreement";
  EXPECT_EQ(submit(recorder), Submission::captured);
  EXPECT_THAT(log, ElementsAre("yes", "begin", "work", "end", "yes", "launched"));
  EXPECT_EQ(submit(recorder), Submission::launched);
  EXPECT_THAT(log, ElementsAre("launched")) << "no agreement";
}

TEST_F(RecordedWork, OfRanksIsTakenBackIfAnotherRankHasNotCaptured) {
  WorkRecorder recorder(true, ranks({true, false}), capture());
  submit(recorder);
  EXPECT_EQ(submit(recorder), Submission::directly);
  EXPECT_THAT(log, ElementsAre("yes", "begin", "work", "end", "yes", "destroyed", "undo", "work"));
  EXPECT_EQ(submit(recorder), Submission::directly);
  EXPECT_THAT(log, ElementsAre("work"));
  EXPECT_THAT(recorder.take_refusal(), HasSubstr("another rank"));
}

TEST_F(RecordedWork, OfRanksIsTakenBackIfThisRankHasNotCaptured) {
  refusals.of_end = "no graphs";
  WorkRecorder recorder(true, ranks({true, true}), capture());
  submit(recorder);
  EXPECT_EQ(submit(recorder), Submission::directly);
  EXPECT_THAT(log, ElementsAre("yes", "begin", "work", "end", "no", "undo", "work"));
}

TEST_F(RecordedWork, OfRanksAnswersTheOthersIfItsCaptureCannotBegin) {
  refusals.of_begin = "busy";
  WorkRecorder recorder(true, ranks({true, true}), capture());
  submit(recorder);
  EXPECT_EQ(submit(recorder), Submission::directly);
  EXPECT_THAT(log, ElementsAre("yes", "begin", "no", "work"));
}

TEST_F(RecordedWork, IsDeclinedBeforeAnyRankCaptures) {
  WorkRecorder declining(true, ranks({true}), capture());
  declining.decline(key);  // the others call it
  EXPECT_TRUE(log.empty());
  EXPECT_TRUE(declining.captures(key)) << "as on the other ranks";
  declining.decline(key);
  EXPECT_THAT(log, ElementsAre("no"));
  EXPECT_FALSE(declining.captures(key));
  WorkRecorder other(true, ranks({false}), capture());
  submit(other);
  EXPECT_EQ(submit(other), Submission::directly);
  EXPECT_THAT(log, ElementsAre("yes", "work"));
}

TEST_F(RecordedWork, OfOneKeyTooManyIsNeverCaptured) {
  WorkRecorder recorder(true, {}, capture());
  for (std::int64_t i = 0; i < 64; ++i) submit(recorder, {i});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(submit(recorder, {64}), Submission::directly);
  EXPECT_EQ(submit(recorder, {63}), Submission::captured);
}

}  // namespace
}  // namespace mylos::test_work_recorder
