// StopNotice: confirms a stop signal in a line if the run needs longer than usual to react.
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
  /// The time from the detection of a signal to the line. A run with shorter steps reports its stop itself,
  /// and no line is printed.
  static constexpr std::chrono::milliseconds patience{2000};

  /// A thread polls `signal` for the name of an arrived signal, four times a second, until this is destroyed,
  /// has printed its line with `print`, or the run has reported its stop.
  StopNotice(std::function<std::string()> signal, std::function<void(const std::string&)> print,
             std::chrono::milliseconds wait = patience);
  ~StopNotice();
  StopNotice(const StopNotice&) = delete;
  StopNotice& operator=(const StopNotice&) = delete;

  /// Called when the run has reported its stop.
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
