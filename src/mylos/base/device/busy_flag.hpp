// BusyFlag: an object that one thread at a time may use, or a stated number of them. A call that finds as
// many running on the object throws instead of computing in the same memory.
#pragma once

#include <atomic>
#include <optional>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"

namespace mylos {

/// The calls that run on an object. A member of the object, at an address that does not change.
class BusyFlag {
 public:
  /// `calls`: that may run at the same time.
  explicit BusyFlag(int calls = 1) : limit_(calls) {}
  [[nodiscard]] bool is_set() const { return running_.load(std::memory_order_acquire) > 0; }

 private:
  friend class BusyCall;
  /// Adds `more` calls if at most `most` run; returns whether it did.
  [[nodiscard]] bool add(int more, int most) {
    int running = running_.load(std::memory_order_relaxed);
    do {
      if (running > most) return false;
    } while (!running_.compare_exchange_weak(running, running + more, std::memory_order_acquire,
                                             std::memory_order_relaxed));
    return true;
  }

  std::atomic<int> running_{0};
  int limit_;
};

/// A call on an object with a BusyFlag, which it occupies while this lives.
class BusyCall {
 public:
  /// `call`: "Model::infer". Throws Error (failed, bad_call) if as many calls run as may.
  BusyCall(BusyFlag& flag, const char* call) : BusyCall(flag, 1, flag.limit_ - 1) { require(call); }
  /// A call that none may run beside. Throws as the constructor does.
  [[nodiscard]] static BusyCall of_all(BusyFlag& flag, const char* call) {
    BusyCall all(flag, flag.limit_, 0);
    all.require(call);
    return all;
  }
  /// Nothing if as many calls run as may.
  [[nodiscard]] static std::optional<BusyCall> attempt(BusyFlag& flag) {
    BusyCall call(flag, 1, flag.limit_ - 1);
    return call.flag_ == nullptr ? std::nullopt : std::optional<BusyCall>(std::move(call));
  }
  ~BusyCall() {
    if (flag_ != nullptr) flag_->running_.fetch_sub(calls_, std::memory_order_release);
  }
  BusyCall(BusyCall&& other) noexcept : flag_(std::exchange(other.flag_, nullptr)), calls_(other.calls_) {}
  BusyCall& operator=(BusyCall&&) = delete;
  BusyCall(const BusyCall&) = delete;
  BusyCall& operator=(const BusyCall&) = delete;

 private:
  BusyCall(BusyFlag& flag, int calls, int most)
      : flag_(flag.add(calls, most) ? &flag : nullptr), calls_(calls) {}
  void require(const char* call) const {
    if (flag_ != nullptr) return;
    fail_run(errors::bad_call,
             "{} was called while another call on the same object had not returned; one thread at a time "
             "uses it, so give each thread an object of its own (of a model, a clone, or "
             "LoadOptions::threads calls at the same time)",
             call);
  }

  BusyFlag* flag_;  // null: occupies nothing
  int calls_;
};

}  // namespace mylos
