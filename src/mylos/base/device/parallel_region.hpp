// Calls from inside a host program's OpenMP parallel region, which Kokkos' OpenMP backend would abort, and
// calls in a process that lost Kokkos' threads.
//
// Kokkos 5.0.2 makes no execution instance there, and aborts at a kernel unless OpenMP allows one more active
// level. An instance of one thread, made outside, then runs its kernels on the calling thread. Its
// concurrency() would be the number of threads of the region: use threads_of().
#pragma once

#include "mylos/base/execution_fwd.hpp"

namespace mylos {

/// Throws Error (failed) that names `call` if the process was forked from one in which Kokkos ran with
/// several threads: they do not exist here, and a kernel would wait for them for ever.
void require_own_threads(const char* call);

/// Throws Error (failed) that names `call` if the calling thread is in a parallel region, or as
/// require_own_threads(). Public functions call it before they enter Kokkos.
void require_outside_parallel_region(const char* call);

/// Throws Error (failed) that names `call` if kernels cannot run here: in a parallel region, unless a
/// ThreadLimit of one thread lets an instance of one thread run them.
void require_can_run(const char* call);

/// Returns the OpenMP parallel regions, of one thread too, around the calling thread.
[[nodiscard]] int parallel_level();

/// Returns how many threads run a kernel of `exec`.
[[nodiscard]] int threads_of(const Execution& exec);

/// Returns an execution instance of one host thread, which runs its kernels on the thread that calls; on a
/// device the default instance. Made outside of parallel regions.
[[nodiscard]] Execution single_thread_instance();

/// Returns how many threads a library that uses OpenMP would use for a call of this thread.
[[nodiscard]] int library_threads();

/// While it lives, libraries that the calling thread calls use at most `threads` threads. With one thread, an
/// execution instance of one thread may run kernels inside one level of parallel regions. Other threads of
/// the program are not affected.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int threads_before_;
  int levels_before_;
  bool changes_threads_;
  bool changes_levels_;
};

}  // namespace mylos
