// CollectiveQueue: the MPI operations in flight, each in a slot.
//
// MPI makes progress only inside MPI calls. A thread of the queue makes these calls: it starts operations,
// tests them, folds the received slices, and sleeps in between so that the computing threads keep their
// cores. It does not sleep while the caller waits. Without the thread, operations progress in wait(), on the
// caller's thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "mylos/comm/group/mpi_operation.hpp"

namespace mylos {

enum class MpiProgress : std::uint8_t { by_thread, by_caller };

/// Returns by_thread if MPI allows calls from several threads (MPI_THREAD_SERIALIZED) and the host can access
/// the folded memory. Folds on a device must be ordered with the caller's kernels.
[[nodiscard]] MpiProgress possible_progress();

/// The queue of one communicator. One thread calls it. Operations begin in the order in which they are
/// started, which must be the same on all ranks that take part in them.
class CollectiveQueue {
 public:
  /// Creates the queue for operations on `ranks`, which must outlive it. All ranks call this. While an
  /// operation is in flight, `ranks` exchanges nothing itself and throws Error if it is asked to.
  CollectiveQueue(RankGroup& ranks, MpiProgress progress);
  ~CollectiveQueue();
  CollectiveQueue(const CollectiveQueue&) = delete;
  CollectiveQueue& operator=(const CollectiveQueue&) = delete;

  /// Sets the number of slots, and how many messages each may exchange. No operation may be in flight. There
  /// is one slot without messages before the first call.
  void resize(std::span<const SlotBytes> slots);
  void resize(std::size_t slots) { resize(std::vector<SlotBytes>(slots)); }
  [[nodiscard]] std::size_t slots() const { return operations_.size(); }
  /// Returns the name of the operation in the slot, or null if the slot is free.
  [[nodiscard]] const char* name_in(std::size_t slot) const { return operations_[slot].name(); }

  /// Starts an operation in a free slot. `kernels`: see wait().
  void start(const Execution& kernels, std::size_t slot, const MpiPlan& plan);
  /// Returns whether all started operations have completed; wait() frees the slots.
  [[nodiscard]] bool all_complete();
  /// Waits until the operation in the slot has completed. Without a thread, folds are enqueued on `kernels`.
  /// Throws Error if any operation in flight failed or the wait exceeds the timeout; the queue is then
  /// unusable.
  void wait(const Execution& kernels, std::size_t slot);
  /// Abandons the operations in flight, and waits up to a second for MPI to release their memory. The queue
  /// is then unusable.
  void abandon();
  /// Ends the thread and abandons the operations in flight. Returns false if MPI may still write to the
  /// memory of an operation.
  [[nodiscard]] bool end();

 private:
  void start_thread();
  void run();
  void wait_for_thread(std::size_t slot);
  void poll_until_complete(const Execution& kernels, std::size_t slot);
  bool advance(const std::vector<std::size_t>& slots, const Execution* kernels);
  [[nodiscard]] bool is_pending(std::size_t slot) const;
  bool remove_complete();
  void test_requests();
  [[nodiscard]] std::span<MPI_Request> requests_of(std::size_t slot);
  template <class Action>
  void run_or_lose(const Action& action);
  [[noreturn]] void lose(const Error& error);
  void abandon_in_flight();

  RankGroup& group_;
  MPI_Comm mpi_;  // the group refuses it to others while an operation is in flight
  MpiProgress progress_;
  std::vector<MpiOperation> operations_;  // of each slot
  std::size_t in_flight_ = 0;             // started, not yet waited for
  std::vector<MPI_Request> requests_;  // of all slots; only those of operations that have begun are pending
  std::vector<std::size_t> first_request_;  // of each slot, and the end
  std::vector<int> done_;                   // results of MPI_Testsome
  std::vector<MPI_Status> statuses_;

  std::mutex mutex_;
  std::condition_variable work_;       // for the thread
  std::condition_variable completed_;  // for the waiting caller
  std::vector<std::size_t> pending_;   // slots of operations, in the order of their start
  std::vector<std::size_t> polled_;    // a copy that the thread reads without the lock
  bool is_waited_for_ = false;
  bool stopping_ = false;
  std::optional<Error> error_;
  std::thread thread_;
};

}  // namespace mylos
