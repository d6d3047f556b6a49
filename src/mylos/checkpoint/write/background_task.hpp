// BackgroundTask: a function on a separate thread, with its state and its exception.
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
  /// Waits for the function.
  ~BackgroundTask() {
    if (thread_.joinable()) thread_.join();
  }
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  /// Starts the function. The previous task must have been joined.
  void start(std::function<void()> function);
  [[nodiscard]] bool started() const { return thread_.joinable(); }
  [[nodiscard]] bool ended() const { return ended_; }
  /// Waits for the function. Returns the error it threw, if any.
  [[nodiscard]] std::optional<Error> join() {
    if (thread_.joinable()) thread_.join();
    ended_ = false;
    return std::exchange(error_, std::nullopt);
  }

 private:
  std::thread thread_;
  std::atomic<bool> ended_ = false;
  std::optional<Error> error_;  // owned by the thread until ended_
};

}  // namespace mylos
