// A run's events: what a file, a checkpoint and a stranger's text make of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/train/history/run_events.hpp"
#include "support/refusal.hpp"

namespace mylos {
namespace {

RunEvent exploding() {
  return {12, "warning", "exploding gradients", "hidden1", "gradients of \"hidden1\" explode: 2\n\xc3\xa4"};
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class RunEventsFile : public testing::Test {
 protected:
  RankGroup ranks_{MPI_COMM_WORLD, 30};
  const test::SharedFolder folder_{ranks_};
  // Each rank a file of its own.
  const std::string path_ = folder_.path() + "/events-" + std::to_string(ranks_.rank()) + ".jsonl";
};

TEST(RunEvents, AreOneJsonObjectALine) {
  EXPECT_EQ(
      event_line({3, "rewind", "divergence", "", "back to step 2"}),
      "{\"step\":3,\"kind\":\"rewind\",\"cause\":\"divergence\",\"subject\":\"\",\"text\":\"back to step "
      "2\"}\n");
}

TEST(RunEvents, ComeBackFromTheirLines) {
  const std::vector<RunEvent> events{exploding(), {13, "rewind", "divergence", "", ""}};
  EXPECT_EQ(read_events(event_line(events[0]) + event_line(events[1]), "here"), events);
}

testing::AssertionResult refuses_events(const std::string& text) {
  return test::refuses(errors::damaged, {"here: "}, [&] { (void)read_events(text, "here"); });
}

TEST(RunEvents, OfAStrangerAreRefused) {
  for (const char* text : {"x", "{}\n", "{\"step\":-1}\n", "[1]\n", "\n"})
    EXPECT_TRUE(refuses_events(text)) << text;
  std::string many;
  for (std::size_t i = 0; i <= RunEvents::max_events; ++i) many += event_line(exploding());
  EXPECT_TRUE(refuses_events(many));
}

TEST_F(RunEventsFile, HasWhatWasAddedOnceItIsWritten) {
  RunEvents events(path_);
  events.write();
  EXPECT_FALSE(std::filesystem::exists(path_));
  events.add(exploding());
  events.write();
  EXPECT_EQ(contents(path_), event_line(exploding()));
  EXPECT_TRUE(events.has("warning", "exploding gradients", "hidden1"));
  EXPECT_FALSE(events.has("warning", "exploding gradients", "hidden2"));
}

TEST(RunEvents, HaveRoomLeftForOthersWhereThereAreManyWarnings) {
  RunEvents events("");
  RunEvent warning = exploding();
  EXPECT_TRUE(events.wants(warning));
  events.add(warning);
  EXPECT_FALSE(events.wants(warning));
  while (events.all().size() < RunEvents::max_warnings) {
    warning.subject += 'x';
    ASSERT_TRUE(events.wants(warning));
    events.add(warning);
  }
  warning.subject += 'x';
  EXPECT_FALSE(events.wants(warning));
  events.add({99, "early_stop", "patience", "", ""});
  EXPECT_EQ(events.all().back().step, 99u);
}

TEST_F(RunEventsFile, IsThatOfTheCheckpointAfterARestart) {
  CheckpointState saved;
  {
    RunEvents events(path_);
    events.add(exploding());
    events.save(saved);
    events.add({14, "warning", "loss", "", "behind the checkpoint"});
    events.write();
  }
  RunEvents events(path_);
  events.restore(saved, "file");
  EXPECT_EQ(events.all(), std::vector{exploding()});
  EXPECT_EQ(contents(path_), event_line(exploding()));
  events.restore({}, "a file without events");
  EXPECT_TRUE(events.all().empty());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace mylos
