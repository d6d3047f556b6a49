// BackgroundTask: a function on a thread of its own, whether it is over, and what it threw.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "mylos/base/error.hpp"

namespace mylos {

class BackgroundTask {
 public:
  BackgroundTask() = default;
  /// Waits for it.
  ~BackgroundTask() {
    if (thread_.joinable()) thread_.join();
  }
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  /// The task before must have been joined.
  void start(std::function<void()> function) {
    ended_ = false;
    error_.reset();
    thread_ = std::thread([this, function = std::move(function)] {
      try {
        function();
      } catch (const Error& error) {
        error_ = error;
      } catch (const std::exception& error) {
        error_ = Error(ExitCode::failed, error.what());
      }
      ended_ = true;
    });
  }
  [[nodiscard]] bool started() const { return thread_.joinable(); }
  [[nodiscard]] bool ended() const { return ended_; }
  /// Waits for it; what it threw.
  [[nodiscard]] std::optional<Error> join() {
    if (thread_.joinable()) thread_.join();
    ended_ = false;
    return std::exchange(error_, std::nullopt);
  }

 private:
  std::thread thread_;
  std::atomic<bool> ended_ = false;
  std::optional<Error> error_;  // the thread's until ended_
};

}  // namespace mylos
