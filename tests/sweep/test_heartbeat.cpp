// Which ranks of a sweep still run.
#include "mylos/sweep/run/heartbeat.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "mylos/base/errors/machine.hpp"
#include "support/refusal.hpp"

namespace mylos::heartbeat_test {

constexpr double timeout_s = 1;

/// As a rank does that waits for others, for longer than the timeout.
void wait_for(Heartbeat& heartbeat) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(1.5 * timeout_s)) {
    heartbeat.require_all();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST(Heartbeat, NamesTheRanksThatAreSilentForTheTimeout) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / fmt::format("heartbeat-{}", getpid());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "state");
  {
    Heartbeat first(folder, 0, 3, timeout_s);
    const Heartbeat second(folder, 1, 3, timeout_s);
    auto third = std::make_unique<Heartbeat>(folder, 2, 3, timeout_s);
    EXPECT_NO_THROW(wait_for(first)) << "however long the others take";
    third.reset();
    EXPECT_TRUE(test::refuses(errors::communication_failed,
                              {"rank 0 of 3 waited 1 s", "of rank 2 (", "communication.timeout = 1"},
                              [&] { wait_for(first); }));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder / "state"));
  std::filesystem::remove_all(folder);
}

}  // namespace mylos::heartbeat_test
