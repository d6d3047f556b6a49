#include "capture_order.hpp"

#include <algorithm>

namespace device_use {

void CaptureOrder::begin(const void* origin) {
  ++capture_;
  is_on_ = true;
  origin_ = origin;
  streams_ = {{origin, {}}};
}

std::string CaptureOrder::end() {
  is_on_ = false;
  Past& end = streams_[origin_];
  const bool is_joined = std::all_of(streams_.begin(), streams_.end(), [&](const auto& stream) {
    const auto own = stream.second.find(stream.first);
    return own == stream.second.end() || end[stream.first] >= own->second;
  });
  streams_.clear();
  return is_joined ? "" : "a capture ends with work of another stream that nothing waits for";
}

std::string CaptureOrder::enqueue(const void* stream) {
  if (!is_on_) return "";
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return "on a stream that the capture of its thread does not contain";
  ++found->second[stream];
  return "";
}

void CaptureOrder::record(const void* event, const void* stream) {
  const auto found = streams_.find(stream);
  events_[event] = found == streams_.end() ? Event{} : Event{capture_, found->second};
}

std::string CaptureOrder::wait(const void* stream, const void* event) {
  const auto found = events_.find(event);
  if (found == events_.end()) return "";
  if (found->second.capture == 0)
    return contains(stream) ? "captured work waits for an event of work that is not captured" : "";
  if (!is_on_ || found->second.capture != capture_)
    return "work waits for an event of a capture that has ended";
  Past& past = streams_[stream];
  for (const auto& [other, count] : found->second.past) past[other] = std::max(past[other], count);
  return "";
}

}  // namespace device_use
