#include "mylos/api/library.hpp"

#include <mpi.h>
#include <omp.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "mylos/api/last_error.hpp"
#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/device/threads.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/comm/ranks/mpi_running.hpp"

namespace mylos::api {
namespace {

/// Of a program that has not asked for a number.
int default_threads() {
  if (std::getenv("OMP_NUM_THREADS") == nullptr && mpi_is_running()) return 1;
  return std::min(omp_get_max_threads(), max_threads);
}

void start_kokkos(int threads) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);  // Kokkos first starts this number, and then leaves its own
  Kokkos::InitializationSettings settings;
  settings.set_num_threads(threads);
  settings.set_disable_warnings(true);
  try {
    Kokkos::initialize(settings);
  } catch (...) {
    omp_set_num_threads(before);
    throw;
  }
  omp_set_num_threads(before);
}

void finish_at_exit() {
  static_cast<void>(status_of([] { library().finish(); }));  // within a parallel region Kokkos cannot end
}

int close_at_mpi_end(MPI_Comm /*self*/, int /*key*/, void* /*value*/, void* /*state*/) {
  library().close_trainers();
  return MPI_SUCCESS;
}

}  // namespace

Library& Library::instance() {
  static auto* const library = new Library;
  return *library;
}

void Library::start(std::int32_t threads) {
  require_outside_parallel_region("mylos_initialize, or the first call of the library,");
  const std::unique_lock lock(mutex_);
  require_running();
  if (threads < 0 || threads > max_threads)
    fail_input(errors::bad_call, "mylos_initialize: {} threads; 0 (automatic) to {} are possible", threads,
               max_threads);
  if (threads_ == 0) {
    const int wanted = threads > 0 ? threads : default_threads();
    start_kokkos(wanted);
    threads_ = wanted;
    std::atexit(finish_at_exit);
  } else if (threads > 0 && threads != threads_) {
    fail_input(
        errors::bad_call,
        "mylos_initialize: {} threads, but the library runs with {}; call it before any other function",
        threads, threads_);
  }
}

void Library::finish() {
  require_outside_parallel_region("mylos_finalize");
  const std::unique_lock lock(mutex_);
  if (finished_) return;
  for (const auto& handle : handles_) static_cast<void>(BusyCall::of_all(handle->busy, "mylos_finalize"));
  finished_ = true;
  const bool mpi = mpi_is_running();
  for (const auto& handle : handles_) {
    if (mpi || !handle->of_mpi()) handle->close();
  }
  // After MPI's end a trainer cannot be freed. close_at_mpi_end() leaves none but those of a failed MPI.
  for (auto& handle : handles_) {
    if (!mpi && handle->of_mpi()) static_cast<void>(handle.release());
  }
  handles_.clear();
  if (threads_ > 0) Kokkos::finalize();
}

void Library::end_trainers_with_mpi() {
  const std::unique_lock lock(mutex_);
  if (ends_with_mpi_) return;
  int key = MPI_KEYVAL_INVALID;
  if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_at_mpi_end, &key, nullptr) != MPI_SUCCESS ||
      MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) != MPI_SUCCESS)
    fail_run(errors::communication_failed, "MPI cannot attach an attribute to MPI_COMM_SELF");
  ends_with_mpi_ = true;
}

void Library::close_trainers() noexcept {
  const std::unique_lock lock(mutex_);
  for (const auto& handle : handles_) {
    if (handle->of_mpi()) handle->close();
  }
}

void Library::require_running() const {
  if (finished_)
    fail_run(
        errors::bad_call,
        "the library has ended, by mylos_finalize or exit(); no call may follow, and it cannot be started "
        "again");
}

Handle* Library::find(const Handle* pointer, const char* call) const {
  if (pointer == nullptr)
    fail_input(errors::bad_call, "{}: the handle is null; load or create one first", call);
  const auto found = std::find_if(handles_.begin(), handles_.end(),
                                  [&](const auto& handle) { return handle.get() == pointer; });
  if (found == handles_.end()) fail_unknown(call);
  return found->get();
}

void Library::fail_unknown(const char* call) {
  fail_input(errors::bad_call, "{}: the handle is not one of this library, or was destroyed", call);
}

void Library::remove(const Handle* pointer, const char* call) {
  if (pointer == nullptr) return;
  const std::unique_lock lock(mutex_);
  if (finished_) return;  // finish() has freed it
  require_outside_parallel_region(call);
  Handle* const found = find(pointer, call);
  static_cast<void>(BusyCall::of_all(found->busy, call));
  const auto entry = std::find_if(handles_.begin(), handles_.end(),
                                  [&](const auto& handle) { return handle.get() == found; });
  if ((*entry)->of_mpi() && !mpi_is_running()) (*entry)->close();  // does nothing: MPI's end has closed it
  handles_.erase(entry);
}

OwnThreads::OwnThreads() {
  if (omp_get_level() > 0) return;
  before_ = omp_get_max_threads();
  omp_set_num_threads(library().threads());
}

OwnThreads::~OwnThreads() {
  if (before_ > 0) omp_set_num_threads(before_);
}

}  // namespace mylos::api
