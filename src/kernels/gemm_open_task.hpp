// A task whose strips are taken one by one, so that threads that have nothing left to do help the others.
//
// Cores that share their units with other programs do not run equally fast, and a product ends with its last
// thread. A task's panels are its own thread's; whoever takes a strip reads them.
#pragma once

#include <atomic>
#include <cstdint>

namespace mylos {

/// What one thread is at. The functions that say so are for that thread, the others for all.
class OpenTask {
 public:
  /// The thread has begun `task` of `strips` strips and takes the first one itself.
  void open(std::int64_t task, std::int64_t strips) {
    task_ = task;
    strips_ = strips;
    has_panels_.store(false, std::memory_order_relaxed);
    next_.store(1, std::memory_order_relaxed);
  }
  /// The task's panels are in the thread's memory, and stay there until no strip of it is left.
  void set_panels_ready() { has_panels_.store(true, std::memory_order_release); }

  [[nodiscard]] std::int64_t task() const { return task_; }
  [[nodiscard]] bool panels_are_ready() const { return has_panels_.load(std::memory_order_acquire); }
  [[nodiscard]] bool has_strips() const { return next_.load(std::memory_order_relaxed) < strips_; }
  /// The next strip; none is left where it is not less than the task's number of strips.
  std::int64_t take() { return next_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::int64_t task_ = 0;
  std::int64_t strips_ = 0;
  std::atomic<std::int64_t> next_ = 0;
  std::atomic<bool> has_panels_ = false;
};

/// How many tasks of a product have been begun, on all threads. Once it is all of them, no thread begins
/// another, and what OpenTask::open() wrote is there for whoever asked.
class BegunTasks {
 public:
  void add() { count_.fetch_add(1, std::memory_order_release); }
  [[nodiscard]] std::int64_t count() const { return count_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::int64_t> count_ = 0;
};

}  // namespace mylos
