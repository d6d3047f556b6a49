// Library: what the C interface has once per process: its Kokkos, and the handles that programs hold.
//
// Kokkos starts with the first call that needs it, and ends in exit() or mylos_finalize(), after the memory
// of all handles is freed. Trainers end before MPI does, whichever call ends MPI: the library hears of it by
// an attribute of MPI_COMM_SELF.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "mylos/base/device/busy_flag.hpp"
#include "mylos/base/error.hpp"

namespace mylos::api {

/// What a pointer of the C interface refers to. Freed on destroy or when the library ends.
class Handle {
 public:
  /// `calls`: that may use it at the same time.
  explicit Handle(int calls = 1) : busy(calls) {}
  virtual ~Handle() = default;
  /// Frees what needs Kokkos, and MPI if `of_mpi`. Later calls do nothing.
  virtual void close() noexcept = 0;
  [[nodiscard]] virtual bool of_mpi() const noexcept = 0;

  BusyFlag busy;  // while calls use it
};

/// A handle during a call, which no other call frees, or uses unless several may at the same time.
template <class T>
class InUse {
 public:
  /// `call`: "mylos_model_infer". Throws Error (failed, bad_call) if another call uses it.
  InUse(T& handle, const char* call) : handle_(&handle), busy_(handle.busy, call) {}
  [[nodiscard]] T& operator*() const { return *handle_; }
  [[nodiscard]] T* operator->() const { return handle_; }

 private:
  T* handle_;
  BusyCall busy_;
};

class Library {
 public:
  /// The one of this process. It is never destroyed, so that calls during exit() still find it.
  static Library& instance();

  /// Starts Kokkos unless it runs. `threads`: as in mylos_initialize(). Throws Error.
  void start(std::int32_t threads);
  /// Ends Kokkos; nothing can be started afterwards.
  void finish();
  /// Makes trainers end with MPI. Called while MPI runs.
  void end_trainers_with_mpi();
  void close_trainers() noexcept;
  /// Kokkos' threads, of a library that has started.
  [[nodiscard]] int threads() const { return threads_; }

  /// Takes a handle and returns the caller's pointer to it.
  template <class T>
  T* add(std::unique_ptr<T> handle) {
    T* const pointer = handle.get();
    const std::unique_lock lock(mutex_);
    require_running();
    handles_.push_back(std::move(handle));
    return pointer;
  }
  /// Returns what a caller's pointer refers to, for what calls do not change, or throws Error: null,
  /// destroyed or of another kind, or after the end of the library.
  template <class T>
  T& get(const T* pointer, const char* call) {
    const std::shared_lock lock(mutex_);
    return found<T>(pointer, call);
  }
  /// The same, for a call that computes.
  template <class T>
  InUse<T> use(const T* pointer, const char* call) {
    const std::shared_lock lock(mutex_);
    return InUse<T>(found<T>(pointer, call), call);
  }
  /// Frees a handle. A null pointer is nothing to free; so is any after the end of the library. Throws Error
  /// if a call uses it, and inside a parallel region, where Kokkos cannot free memory.
  void remove(const Handle* pointer, const char* call);

 private:
  Library() = default;
  template <class T>
  T& found(const T* pointer, const char* call) const {
    require_running();
    T* const handle = dynamic_cast<T*>(find(pointer, call));
    if (handle == nullptr) fail_unknown(call);
    return *handle;
  }
  void require_running() const;
  [[nodiscard]] Handle* find(const Handle* pointer, const char* call) const;
  [[noreturn]] static void fail_unknown(const char* call);

  mutable std::shared_mutex mutex_;
  std::vector<std::unique_ptr<Handle>> handles_;  // in the order in which they were made, equal on all ranks
  int threads_ = 0;                               // of Kokkos, which runs; 0: not started
  bool finished_ = false;
  bool ends_with_mpi_ = false;
};

inline Library& library() {
  return Library::instance();
}

/// While it exists, OpenMP regions that this thread starts have Kokkos' number of threads: of oneDNN, for
/// example. The program's own number returns afterwards. Inside a parallel region it does nothing.
class OwnThreads {
 public:
  OwnThreads();
  ~OwnThreads();
  OwnThreads(const OwnThreads&) = delete;
  OwnThreads& operator=(const OwnThreads&) = delete;

 private:
  int before_ = 0;  // 0: nothing to restore
};

}  // namespace mylos::api
