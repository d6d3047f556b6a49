// Work stealing: host threads take large tasks one by one, each thread with separate memory.
//
// A thread first takes the tasks of its own contiguous range, so that neighbouring tasks find in its caches
// what it has written before. Then it steals the remaining tasks of other threads, because cores that are
// shared with other programs do not run equally fast.
#pragma once

#include <atomic>
#include <new>

#include "mylos/base/alignment.hpp"
#include "mylos/base/device/parallel_region.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

/// Returns the maximum number of threads that work at one time. Cached: steps call it repeatedly, and a new
/// Execution allocates.
inline std::int64_t max_workers() {
  static const std::int64_t workers = Execution().concurrency();
  return workers;
}

/// The untaken tasks of one worker's range. Stored before the worker's own memory.
class TaskRange {
 public:
  TaskRange(std::int64_t tasks, std::int64_t worker, std::int64_t workers)
      : next_(tasks * worker / workers), end_(tasks * (worker + 1) / workers) {}

  /// Returns the next task, or -1.
  std::int64_t take() {
    if (next_.load(std::memory_order_relaxed) >= end_) return -1;
    const std::int64_t task = next_.fetch_add(1, std::memory_order_relaxed);
    return task < end_ ? task : -1;
  }

 private:
  std::atomic<std::int64_t> next_;
  std::int64_t end_;
};

inline constexpr std::size_t range_bytes = aligned_bytes(sizeof(TaskRange));

/// Returns the memory that for_each_task() needs if each of max_workers() gets `bytes`.
inline std::size_t bytes_of_workers(std::size_t bytes) {
  return static_cast<std::size_t>(max_workers()) * (range_bytes + bytes);
}

/// Calls body(task, memory) for every task; each worker of `exec` has its own `bytes` of memory. `exec` has
/// at most max_workers() threads.
template <class Body>
void for_each_task(const Execution& exec, KernelName name, std::int64_t tasks, std::byte* memory,
                   std::size_t bytes, const Body& body) {
  const std::int64_t workers = launch::smaller(threads_of(exec), tasks);
  const auto memory_of = [=](std::int64_t worker) {
    return memory + static_cast<std::size_t>(worker) * (range_bytes + bytes);
  };
  for (std::int64_t worker = 0; worker < workers; ++worker)
    new (memory_of(worker)) TaskRange(tasks, worker, workers);
  for_each_index(exec, name, workers, [=](std::int64_t worker) {
    std::byte* const scratch = memory_of(worker) + range_bytes;
    for (std::int64_t i = 0; i < workers; ++i) {
      auto& range = *std::launder(reinterpret_cast<TaskRange*>(memory_of((worker + i) % workers)));
      for (std::int64_t task = range.take(); task >= 0; task = range.take()) body(task, scratch);
    }
  });
}

}  // namespace mylos
