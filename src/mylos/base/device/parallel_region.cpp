#include "mylos/base/device/parallel_region.hpp"

#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <type_traits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

/// What Kokkos needs to run kernels inside a region.
constexpr int active_levels = 2;

/// Whether this process is the child of a fork() that left Kokkos' threads behind.
std::atomic<bool> threads_are_lost{false};

void note_fork() {
  if (Kokkos::is_initialized() && Kokkos::num_threads() > 1) threads_are_lost = true;
}

/// Before main(), so that no fork() is missed.
[[maybe_unused]] const int fork_is_watched = pthread_atfork(nullptr, nullptr, note_fork);

[[noreturn]] void refuse(const char* call, int level) {
  fail_run(
      errors::bad_call,
      "{} was called inside an OpenMP parallel region (level {}), where Kokkos cannot start kernels; call it "
      "outside of it, with the samples of all threads",
      call, level);
}

template <class Space>
Space instance_of_one_thread() {
  if constexpr (std::is_constructible_v<Space, int>) {
    return Space(1);
  } else {
    return Space();
  }
}

}  // namespace

int parallel_level() {
  return omp_get_level();  // regions of one thread count too, as in Kokkos
}

void require_own_threads(const char* call) {
  if (!threads_are_lost.load(std::memory_order_relaxed)) return;
  fail_run(
      errors::bad_call,
      "{} was called in a process that fork() made from one whose Kokkos had several threads: they do not "
      "exist here. Use the library in the parent alone, start another program (exec), or start it with one "
      "thread",
      call);
}

void require_outside_parallel_region(const char* call) {
  require_own_threads(call);
  if (const int level = parallel_level(); level != 0) refuse(call, level);
}

void require_can_run(const char* call) {
  const int level = parallel_level();
  if (level == 0 || (level == 1 && omp_get_max_threads() == 1 && omp_get_max_active_levels() > 1)) return;
  refuse(call, level);
}

int threads_of(const Execution& exec) {
  return parallel_level() == 0 ? exec.concurrency() : 1;
}

Execution single_thread_instance() {
  return instance_of_one_thread<Execution>();
}

int library_threads() {
  return omp_in_parallel() != 0 ? 1 : omp_get_max_threads();
}

ThreadLimit::ThreadLimit(int threads)
    : threads_before_(omp_get_max_threads()),
      levels_before_(omp_get_max_active_levels()),
      changes_threads_(threads < threads_before_),
      changes_levels_(levels_before_ < active_levels && parallel_level() > 0) {
  if (changes_threads_) omp_set_num_threads(threads);
  if (changes_levels_) omp_set_max_active_levels(active_levels);
}

ThreadLimit::~ThreadLimit() {
  if (changes_threads_) omp_set_num_threads(threads_before_);
  if (changes_levels_) omp_set_max_active_levels(levels_before_);
}

}  // namespace mylos
