// A task whose strips are taken one by one, so that threads that have nothing left to do help the others.
//
// Cores that share their units with other programs do not run equally fast, and a product ends with its last
// thread. A task's panels are its own thread's; whoever takes a strip reads them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "dealt_tasks.hpp"
#include "mylos/base/arena.hpp"

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

inline constexpr std::size_t open_task_bytes = aligned_bytes(sizeof(OpenTask));
inline constexpr std::size_t begun_tasks_bytes = aligned_bytes(sizeof(BegunTasks));

/// What a product's threads know of each other. A worker's memory begins with its OpenTask; behind them all
/// is the packed A.
struct SharedWork {
  SharedWork(std::byte* workspace, std::size_t bytes_of_worker, std::int64_t all)
      : begun(new (workspace) BegunTasks),
        memory(workspace + begun_tasks_bytes),
        worker_bytes(open_task_bytes + bytes_of_worker),
        workers(all) {
    for (std::int64_t worker = 0; worker < workers; ++worker) new (memory_of(worker)) OpenTask;
  }
  [[nodiscard]] std::byte* memory_of(std::int64_t worker) const {
    return memory + static_cast<std::size_t>(worker) * (share_bytes + worker_bytes) + share_bytes;
  }
  [[nodiscard]] std::byte* packed_a() const {
    return memory + static_cast<std::size_t>(workers) * (share_bytes + worker_bytes);
  }
  static OpenTask& task_of(std::byte* worker_memory) {
    return *std::launder(reinterpret_cast<OpenTask*>(worker_memory));
  }

  BegunTasks* begun;
  std::byte* memory;
  std::size_t worker_bytes;
  std::int64_t workers;
};

}  // namespace mylos
