// The streams and events of a capture: what CUDA refuses where work crosses its begin or end.
#pragma once

#include <map>
#include <string>

namespace device_use {

/// Each function returns what CUDA would refuse, or nothing.
class CaptureOrder {
 public:
  void begin(const void* origin);
  /// Ends the capture. Streams that joined it must have been waited for by the first.
  [[nodiscard]] std::string end();
  /// Work on a stream, of the thread that captures.
  [[nodiscard]] std::string enqueue(const void* stream);
  void record(const void* event, const void* stream);
  [[nodiscard]] std::string wait(const void* stream, const void* event);
  void forget(const void* event) { events_.erase(event); }
  [[nodiscard]] bool contains(const void* stream) const { return streams_.contains(stream); }

 private:
  /// Of each stream, how many of its pieces of work come before.
  using Past = std::map<const void*, long>;
  struct Event {
    long capture = 0;  // 0: outside captures
    Past past = {};
  };

  long capture_ = 0;  // number of the last capture
  bool is_on_ = false;
  const void* origin_ = nullptr;
  std::map<const void*, Past> streams_;  // of the capture
  std::map<const void*, Event> events_;
};

}  // namespace device_use
