// The line for whoever asked a run to stop whose steps are long.
#include "../../apps/mylos/launch/stop_notice.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace {

using mylos::app::StopNotice;
using std::chrono::milliseconds;

/// Signals that arrive, and lines that are printed.
struct Sender {
  std::atomic<bool> has_sent = false;
  std::mutex mutex;
  std::vector<std::string> lines;

  StopNotice notice(milliseconds wait) {
    return StopNotice([this] { return has_sent ? std::string("SIGTERM") : std::string(); },
                      [this](const std::string& line) {
                        const std::lock_guard lock(mutex);
                        lines.push_back(line);
                      },
                      wait);
  }
  std::vector<std::string> printed() {
    const std::lock_guard lock(mutex);
    return lines;
  }
};

TEST(StopNotice, SaysOnceThatASignalHasArrived) {
  Sender sender;
  const StopNotice notice = sender.notice(milliseconds(5));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_TRUE(sender.printed().empty()) << "nothing has arrived";
  sender.has_sent = true;
  for (int i = 0; i < 10'000 && sender.printed().empty(); ++i) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(50));
  ASSERT_EQ(sender.printed().size(), 1u);
  EXPECT_EQ(sender.printed()[0].find("SIGTERM has arrived: the run stops"), 0u) << sender.printed()[0];
}

TEST(StopNotice, SaysNothingOfARunThatHasSaidIt) {
  Sender sender;
  StopNotice notice = sender.notice(std::chrono::hours(1));
  sender.has_sent = true;
  notice.run_has_said_it();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_TRUE(sender.printed().empty());
}

TEST(StopNotice, EndsAtOnceWithItsRun) {
  Sender sender;
  sender.has_sent = true;
  { const StopNotice notice = sender.notice(std::chrono::hours(1)); }
  EXPECT_TRUE(sender.printed().empty());
}

}  // namespace
