#include "launch/stop_notice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace mylos::app {

StopNotice::StopNotice(std::function<std::string()> signal, std::function<void(const std::string&)> print,
                       std::chrono::milliseconds wait)
    : signal_(std::move(signal)), print_(std::move(print)) {
  try {
    thread_ = std::thread([this, wait] { watch(wait); });
  } catch (const std::system_error&) {  // no thread is to be had: the run stops all the same
  }
}

StopNotice::~StopNotice() {
  end();
  if (thread_.joinable()) thread_.join();
}

void StopNotice::end() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ended_.notify_one();
}

/// The thread.
void StopNotice::watch(std::chrono::milliseconds wait) {
  constexpr std::chrono::milliseconds between_looks{250};
  std::unique_lock lock(mutex_);
  const auto ends_within = [&](std::chrono::milliseconds time) {
    return ended_.wait_for(lock, time, [this] { return ends_; });
  };
  std::string name;
  while (name.empty()) {
    if (ends_within(std::min(between_looks, wait))) return;
    name = signal_();
  }
  if (ends_within(wait)) return;
  print_(
      fmt::format("{} has arrived: the run stops, with a checkpoint, after the step, evaluation or set-up "
                  "that it is in",
                  name));
}

}  // namespace mylos::app
