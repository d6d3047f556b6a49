// The words key=VALUES of a command line: lists, ranges, overrides, and what is refused.
#include "mylos/sweep/space/sweep_key.hpp"

#include <gtest/gtest.h>

#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/refusal.hpp"

namespace mylos::sweep_key_test {

using test::refuses;

TEST(SweepKey, TakesListsRangesAndOverrides) {
  const SweepWords words =
      read_sweep_words({"optimizer.lr=1e-4:1e-1:log", "model.hidden=[64,32],[128]", "run.steps=100",
                        "model.dropout=0:0.5", "data.batch=16:64:linear"});
  ASSERT_EQ(words.keys.size(), 4u);
  EXPECT_EQ(words.keys[0],
            (SweepKey{.key = "optimizer.lr", .low = 1e-4, .high = 0.1, .is_logarithmic = true}));
  EXPECT_EQ(words.keys[1], (SweepKey{.key = "model.hidden", .values = {"[64,32]", "[128]"}}));
  EXPECT_EQ(words.keys[2], (SweepKey{.key = "model.dropout", .low = 0, .high = 0.5}));
  EXPECT_EQ(words.keys[3], (SweepKey{.key = "data.batch", .low = 16, .high = 64, .is_integer = true}));
  EXPECT_EQ(words.overrides, std::vector<std::string>{"run.steps=100"});
}

TEST(SweepKey, LeavesTimesAndQuotedCommasAlone) {
  const SweepWords words =
      read_sweep_words({"run.walltime=01:30:00", "run.name=\"a,b\"", "optimizer.lr=1e-3,1e-2"});
  EXPECT_EQ(words.overrides, (std::vector<std::string>{"run.walltime=01:30:00", "run.name=\"a,b\""}));
}

TEST(SweepKey, RefusesWrongWords) {
  const auto read = [](const char* word) { return [word] { static_cast<void>(read_sweep_words({word})); }; };
  EXPECT_TRUE(refuses(errors::missing_argument, {"no key varies"}, read("optimizer.lr=1e-3")));
  EXPECT_TRUE(refuses(errors::bad_value, {"optimizer.lr"}, read("optimizer.lr=")));
  EXPECT_TRUE(refuses(errors::bad_value, {"optimizer.lr"}, read("optimizer.lr=1e-3,,1e-2")));
  EXPECT_TRUE(refuses(errors::bad_value, {"1e-3"}, read("optimizer.lr=1e-3,1e-3")));
  EXPECT_TRUE(refuses(errors::bad_value, {"optimizer.lr=0:1:log"}, read("optimizer.lr=0:1:log")));
  EXPECT_TRUE(refuses(errors::bad_value, {"optimizer.lr=-1:1:log"}, read("optimizer.lr=-1:1:log")));
  EXPECT_TRUE(refuses(errors::bad_value, {"optimizer.lr=1:1"}, read("optimizer.lr=1:1")));
  EXPECT_TRUE(refuses(errors::bad_value, {"optimizer.lr=0:inf"}, read("optimizer.lr=0:inf")));
  EXPECT_TRUE(refuses(errors::bad_argument, {"cubic"}, read("optimizer.lr=0:1:cubic")));
  EXPECT_TRUE(refuses(errors::bad_value, {"data.batch"}, read("data.batch=1.5:3")));
  EXPECT_TRUE(refuses(errors::bad_value, {"precision.compute"}, read("precision.compute=1:3")));
  EXPECT_TRUE(refuses(errors::unknown_key, {"optimizer.ls"}, read("optimizer.ls=1:3")));
  EXPECT_TRUE(refuses(errors::bad_argument, {"run.folder"}, read("run.folder=a,b")));
  EXPECT_TRUE(refuses(errors::bad_argument, {"run.threads"}, read("run.threads=1,2")));
  EXPECT_TRUE(refuses(errors::bad_argument, {"'lr'"}, read("lr")));
  EXPECT_TRUE(refuses(errors::duplicate_key, {"optimizer.lr"}, [] {
    static_cast<void>(read_sweep_words({"optimizer.lr=1,2", "optimizer.lr=3"}));
  }));
}

}  // namespace mylos::sweep_key_test
