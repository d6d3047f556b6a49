#include "mylos/base/device/work_recorder.hpp"

#include <algorithm>
#include <utility>

#include "mylos/base/errors/internal.hpp"

namespace mylos {
namespace {

// Enough for the keys of a step: two staging buffers, each with and without gradients to add to, and the work
// that follows; with dropout both buffers for each micro-batch. A graph takes some hundred KiB.
constexpr std::size_t max_keys = 64;

}  // namespace

WorkRecorder::WorkRecorder(bool records, Ranks ranks, std::unique_ptr<GraphCapture> capture)
    : ranks_(std::move(ranks)), capture_(records ? std::move(capture) : nullptr) {
  if (capture_ != nullptr) recordings_.reserve(max_keys);
}

const WorkRecorder::Recording* WorkRecorder::find(const Key& key) const {
  const auto found = std::find_if(recordings_.begin(), recordings_.end(),
                                  [&](const Recording& other) { return other.key == key; });
  return found == recordings_.end() ? nullptr : &*found;
}

bool WorkRecorder::captures(const Key& key) const {
  return capture_ != nullptr && find(key) != nullptr;
}

void WorkRecorder::decline(const Key& key) {
  if (capture_ == nullptr) return;
  const Recording* const found = find(key);
  if (found == nullptr) {
    note(key);
  } else if (found->work == nullptr) {
    static_cast<void>(agree("it has no data to capture it with"));
  } else {
    fail_run(errors::internal, "work that has been captured cannot be declined");
  }
}

void WorkRecorder::note(const Key& key) {
  if (recordings_.size() < max_keys) recordings_.push_back({key});
}

WorkRecorder::Submission WorkRecorder::begin(const Execution& exec, const Key& key) {
  if (capture_ == nullptr) return Submission::directly;
  const Recording* const found = find(key);
  if (found == nullptr) {
    note(key);
    return Submission::directly;
  }
  if (found->work != nullptr) {
    found->work->launch(exec);
    return Submission::launched;
  }
  if (!agree({})) return Submission::directly;
  if (const std::string refusal = capture_->begin(exec); !refusal.empty()) {
    static_cast<void>(agree(refusal));  // after the captures of the other ranks
    return Submission::directly;
  }
  in_capture_ = static_cast<std::size_t>(found - recordings_.data());
  return Submission::captured;
}

bool WorkRecorder::end(const Execution& exec, std::string refusal) {
  std::string reason;
  // In place before the ranks agree: if that fails, forget() must release it (Communicator::add_captures).
  recordings_[in_capture_].work = capture_->end(exec, reason);
  if (refusal.empty()) refusal = std::move(reason);
  if (!agree(refusal)) {
    if (ranks_.undo) ranks_.undo();
    return false;
  }
  recordings_[in_capture_].work->launch(exec);
  return true;
}

bool WorkRecorder::agree(const std::string& refusal) {
  const bool own = refusal.empty();
  if (ranks_.all ? ranks_.all(own) : own) return true;
  refusal_ = own ? "another rank cannot capture it" : refusal;
  capture_ = nullptr;
  recordings_.clear();
  return false;
}

std::string WorkRecorder::take_refusal() {
  return std::exchange(refusal_, {});
}

}  // namespace mylos
