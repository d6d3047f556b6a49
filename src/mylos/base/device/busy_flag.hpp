// BusyFlag: an object that one thread at a time may use. A call that finds another one running on the object
// throws instead of computing in the same memory.
#pragma once

#include <atomic>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"

namespace mylos {

/// Whether a call runs on an object. A member of the object, at an address that does not change.
class BusyFlag {
 public:
  [[nodiscard]] bool is_set() const { return busy_.load(std::memory_order_acquire); }

 private:
  friend class BusyCall;
  std::atomic<bool> busy_{false};
};

/// A call on an object with a BusyFlag, which is set while this lives.
class BusyCall {
 public:
  /// `call`: "Model::infer". Throws Error (failed, bad_call) if the flag is set.
  BusyCall(BusyFlag& flag, const char* call) : flag_(&flag) {
    if (flag.busy_.exchange(true, std::memory_order_acquire)) {
      fail_run(errors::bad_call,
               "{} was called while another call on the same object had not returned; one thread at a time "
               "uses it, so give each thread an object of its own (of a model, a clone)",
               call);
    }
  }
  ~BusyCall() {
    if (flag_ != nullptr) flag_->busy_.store(false, std::memory_order_release);
  }
  BusyCall(BusyCall&& other) noexcept : flag_(std::exchange(other.flag_, nullptr)) {}
  BusyCall& operator=(BusyCall&&) = delete;
  BusyCall(const BusyCall&) = delete;
  BusyCall& operator=(const BusyCall&) = delete;

 private:
  BusyFlag* flag_;
};

}  // namespace mylos
