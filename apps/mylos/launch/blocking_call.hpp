// BlockingCall: the deadline of a call of MPI that waits for other ranks and has no form that can be polled:
// MPI_Init, MPI_Finalize, MPI_Comm_split.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace mylos::app {

class BlockingCall {
 public:
  /// From here to its destruction this thread makes the call of this name. If that takes longer than
  /// `timeout_s`, the process prints so and ends with the code of failed runs; the launcher then ends the
  /// other ranks. A rank prints some seconds after the one before it, which speaks for all. Nothing where no
  /// launcher started this process: it waits for nobody.
  BlockingCall(const char* name, double timeout_s);
  ~BlockingCall();
  BlockingCall(const BlockingCall&) = delete;
  BlockingCall& operator=(const BlockingCall&) = delete;

 private:
  void watch(const char* name, double timeout_s, std::chrono::steady_clock::time_point start);

  std::mutex mutex_;
  std::condition_variable returned_;
  bool has_returned_ = false;
  std::thread thread_;
};

}  // namespace mylos::app
