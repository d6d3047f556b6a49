#include "mylos/inference/library/call_of_thread.hpp"

#include <functional>
#include <thread>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/kernels/launch/work_stealing.hpp"

namespace mylos {

/// Calls are counted first: then a workspace is free for each of them, at any time. Threads begin their
/// search at different ones, so that they seldom meet.
CallOfThread::Workspace CallOfThread::free_one(Model::Workspaces& workspaces, const char* call) {
  const std::size_t count = workspaces.all.size();
  if (count == 1) return {std::nullopt, workspaces.first(), BusyCall(*workspaces.first().busy, call)};
  std::optional<BusyCall> counted = BusyCall::attempt(workspaces.calls);
  if (!counted) {
    fail_run(errors::bad_call,
             "{} was called while {} other calls on the model ran, the number that LoadOptions::threads "
             "allows; load it for more threads, or give the thread a clone",
             call, count);
  }
  for (std::size_t i = std::hash<std::thread::id>{}(std::this_thread::get_id());; ++i) {
    Model::Parts& parts = *workspaces.all[i % count];
    if (auto busy = BusyCall::attempt(*parts.busy)) return {std::move(counted), parts, *std::move(busy)};
  }
}

CallOfThread::CallOfThread(const Execution& exec, Model::Workspaces& workspaces, const char* call)
    : workspace_(free_one(workspaces, call)),
      on_((parallel_level() == 0 && workspaces.all.size() == 1) || !memory_is_host ? exec : parts().alone) {
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
