// StopNotice: a line for whoever asked a run to stop, where the run needs longer than usual to come to it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace mylos::app {

class StopNotice {
 public:
  /// From the first look that finds a signal to the line. A run whose steps are shorter says itself that it
  /// stops, and no line is printed.
  static constexpr std::chrono::milliseconds patience{2000};

  /// A thread asks `signal` for the name of one that has arrived, four times a second, until this is
  /// destroyed, has printed its line with `print`, or the run has said that it stops.
  StopNotice(std::function<std::string()> signal, std::function<void(const std::string&)> print,
             std::chrono::milliseconds wait = patience);
  ~StopNotice();
  StopNotice(const StopNotice&) = delete;
  StopNotice& operator=(const StopNotice&) = delete;

  /// The run has said that it stops.
  void run_has_said_it() { end(); }

 private:
  void watch(std::chrono::milliseconds wait);
  void end();

  std::function<std::string()> signal_;
  std::function<void(const std::string&)> print_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace mylos::app
