// Work stealing: tasks of some work each that host threads take one by one, in memory of their own.
//
// A thread begins with its own share of the tasks, a range of them, so that neighbouring tasks find in its
// caches what the same thread has written before; then it steals what is left of the others': cores that
// share their units with other programs do not run equally fast.
#pragma once

#include <atomic>
#include <new>

#include "mylos/base/device/arena.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

/// Threads that may work at one time. Asked once: steps ask again, and a new Execution allocates.
inline std::int64_t max_workers() {
  static const std::int64_t workers = Execution().concurrency();
  return workers;
}

/// The tasks of one worker's share that nobody has taken. It lies in front of the worker's own memory.
class ShareOfTasks {
 public:
  ShareOfTasks(std::int64_t tasks, std::int64_t worker, std::int64_t workers)
      : next_(tasks * worker / workers), end_(tasks * (worker + 1) / workers) {}

  /// The next task, or -1.
  std::int64_t take() {
    if (next_.load(std::memory_order_relaxed) >= end_) return -1;
    const std::int64_t task = next_.fetch_add(1, std::memory_order_relaxed);
    return task < end_ ? task : -1;
  }

 private:
  std::atomic<std::int64_t> next_;
  std::int64_t end_;
};

inline constexpr std::size_t share_bytes = aligned_bytes(sizeof(ShareOfTasks));

/// What for_each_task() takes of memory for max_workers() of `bytes` each.
inline std::size_t bytes_of_workers(std::size_t bytes) {
  return static_cast<std::size_t>(max_workers()) * (share_bytes + bytes);
}

/// body(task, memory) for every task; each worker of `exec` has its own `bytes`.
template <class Body>
void for_each_task(const Execution& exec, KernelName name, std::int64_t tasks, std::byte* memory,
                   std::size_t bytes, const Body& body) {
  const std::int64_t workers = exec.concurrency();
  const auto memory_of = [=](std::int64_t worker) {
    return memory + static_cast<std::size_t>(worker) * (share_bytes + bytes);
  };
  for (std::int64_t worker = 0; worker < workers; ++worker)
    new (memory_of(worker)) ShareOfTasks(tasks, worker, workers);
  Kokkos::parallel_for(name.string(), launch::Range(exec, 0, workers), [=](std::int64_t worker) {
    std::byte* const own = memory_of(worker) + share_bytes;
    for (std::int64_t i = 0; i < workers; ++i) {
      auto& share = *std::launder(reinterpret_cast<ShareOfTasks*>(memory_of((worker + i) % workers)));
      for (std::int64_t task = share.take(); task >= 0; task = share.take()) body(task, own);
    }
  });
}

}  // namespace mylos
