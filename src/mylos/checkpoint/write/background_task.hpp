// BackgroundTask: a function on a separate thread, with its state and its exception.
#pragma once

#include <atomic>
#include <functional>
#include <new>
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
  void start(std::function<void()> function) {
    ended_ = false;
    error_.reset();
    thread_ = std::thread([this, function = std::move(function)] {
      try {
        function();
      } catch (const Error& error) {
        error_ = error;
      } catch (const std::bad_alloc&) {
        error_ = Error(ExitCode::failed, ErrorId::out_of_memory, "the system gave no more memory");
      } catch (const std::exception& error) {
        error_ = Error(ExitCode::failed, ErrorId::internal, error.what());
      }
      ended_ = true;
    });
  }
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
