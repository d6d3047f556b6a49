#include "launch/blocking_call.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"

namespace mylos::app {
namespace {

constexpr int max_turns = 3;
constexpr double seconds_of_turn = 6;  // launchers end ranks within about one, on a busy machine within some
constexpr double lateness_s = 1;       // of a thread on a busy machine
constexpr double seconds_to_be_ended = 30;  // for a launcher on one, whose other ranks have spoken

}  // namespace

BlockingCall::BlockingCall(const char* name, double timeout_s) {
  if (!was_launched()) return;
  const auto start = std::chrono::steady_clock::now();  // the process may be stopped before the thread runs
  thread_ = std::thread([this, name, timeout_s, start] { watch(name, timeout_s, start); });
}

BlockingCall::~BlockingCall() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    has_returned_ = true;
  }
  returned_.notify_one();
  thread_.join();
}

/// On a thread of its own, which makes no call of MPI.
void BlockingCall::watch(const char* name, double timeout_s, std::chrono::steady_clock::time_point start) {
  const int rank = launched_rank();
  double turn_s = seconds_of_turn * std::min(rank, max_turns);
  std::unique_lock lock(mutex_);
  for (;;) {
    if (returned_.wait_for(lock, std::chrono::duration<double>(timeout_s + turn_s),
                           [this] { return has_returned_; }))
      return;
    if (seconds_since(start) < timeout_s + turn_s + lateness_s) break;
    start = std::chrono::steady_clock::now();
    turn_s = seconds_to_be_ended;  // this process was stopped itself and goes on now: the others speak
  }
  const Error error(
      ExitCode::failed, errors::communication_failed,
      fmt::format("rank {}: {}: waited {:.4g} s for the other ranks (communication.timeout = {:.4g})", rank,
                  name, timeout_s + turn_s, timeout_s));
  print_error(fmt::format("mylos: {}", error.what()));
  _exit(static_cast<int>(error.code()));
}

}  // namespace mylos::app
