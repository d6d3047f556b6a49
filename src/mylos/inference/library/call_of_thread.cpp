#include "mylos/inference/library/call_of_thread.hpp"

#include <functional>
#include <thread>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/kernels/launch/work_stealing.hpp"

namespace mylos {

/// Threads begin their search at different workspaces, so that they seldom meet.
CallOfThread::Workspace CallOfThread::free_one(std::span<const std::unique_ptr<Model::Parts>> workspaces,
                                               const char* call) {
  Model::Parts& first = *workspaces.front();
  if (workspaces.size() == 1) return {first, BusyCall(*first.busy, call)};
  const std::size_t begin = std::hash<std::thread::id>{}(std::this_thread::get_id());
  for (std::size_t i = 0; i < workspaces.size(); ++i) {
    Model::Parts& parts = *workspaces[(begin + i) % workspaces.size()];
    if (auto busy = BusyCall::attempt(*parts.busy)) return {parts, *std::move(busy)};
  }
  fail_run(errors::bad_call,
           "{} was called while {} calls on the model ran, as many as LoadOptions::threads says", call,
           workspaces.size());
}

CallOfThread::CallOfThread(const Execution& exec, std::span<const std::unique_ptr<Model::Parts>> workspaces,
                           const char* call)
    : workspace_(free_one(workspaces, call)),
      on_((parallel_level() == 0 && workspaces.size() == 1) || !memory_is_host ? exec : parts().alone) {
  require_own_threads(call);
  const int level = parallel_level();
  if (level > 1) {
    fail_run(errors::bad_call,
             "{} was called inside nested OpenMP parallel regions (level {}); one level is possible", call,
             level);
  }
  if constexpr (!memory_is_host) return;
  const int threads = threads_of(on_);
  if (threads > max_workers()) {
    fail_input(errors::bad_call, "the execution instance has {} threads, but Kokkos was initialised with {}",
               threads, max_workers());
  }
  limit_.emplace(threads);
}

}  // namespace mylos
