// CollectiveQueue: the operations of an MPI communicator that are under way at one time, each in a slot.
//
// MPI moves data only while it is called. A thread of the queue does that: it makes all calls of operations,
// folds what arrived, and sleeps in between, so that the threads that compute keep their cores; while
// somebody waits it sleeps no more. Without it operations go on in wait(), in the thread of the caller.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "mylos/comm/group/mpi_operation.hpp"

namespace mylos {

enum class MpiProgress : std::uint8_t { by_thread, by_caller };

/// By a thread where MPI allows calls of several (MPI_THREAD_SERIALIZED) and the host reaches the memory that
/// is folded. Kernels of a device are ordered with the caller's.
[[nodiscard]] MpiProgress possible_progress();

/// One thread calls it. Operations are begun in the order in which they are started, which is the same on all
/// ranks.
class CollectiveQueue {
 public:
  /// For operations on `ranks`, which outlives the queue. All ranks call this. While an operation is under
  /// way `ranks` exchanges nothing itself, and says so.
  CollectiveQueue(RankGroup& ranks, MpiProgress progress);
  ~CollectiveQueue();
  CollectiveQueue(const CollectiveQueue&) = delete;
  CollectiveQueue& operator=(const CollectiveQueue&) = delete;

  /// Nothing is under way. There is one slot before the first call.
  void resize(std::size_t slots);
  [[nodiscard]] std::size_t slots() const { return operations_.size(); }
  /// What is in the slot; null: it is free.
  [[nodiscard]] const char* name_in(std::size_t slot) const { return operations_[slot].name(); }

  /// The slot is free. `kernels`: see wait.
  void start(const Execution& kernels, std::size_t slot, const MpiPlan& plan);
  /// Whether all that was started is over; wait() frees the slots.
  [[nodiscard]] bool all_over();
  /// Until the operation in the slot is over. Without a thread folds are work of `kernels`. Throws Error when
  /// anything in flight failed or the wait is longer than the timeout; nothing can follow.
  void wait(const Execution& kernels, std::size_t slot);
  /// Gives up what is under way, and waits a second for MPI to have done with its memory. Nothing can follow.
  void abandon();
  /// Ends the thread, and gives up what is under way. False: MPI may still write to the memory of something.
  [[nodiscard]] bool end();

 private:
  void start_thread();
  void run();
  void wait_for_thread(std::size_t slot);
  void go_on_until_over(const Execution& kernels, std::size_t slot);
  bool advance(const std::vector<std::size_t>& slots, const Execution* kernels);
  [[nodiscard]] bool is_under_way(std::size_t slot) const;
  bool forget_ended();
  void test_requests(const std::vector<std::size_t>& slots);
  template <class Action>
  void or_lose(const Action& action);
  [[noreturn]] void lose(const Error& error);
  void give_up();

  RankGroup& group_;
  MPI_Comm mpi_;  // while something is under way the group lends it to nobody
  MpiProgress progress_;
  std::vector<MpiOperation> operations_;  // of each slot
  std::size_t in_flight_ = 0;             // started, and not waited for
  std::vector<MPI_Request> requests_;     // for MPI_Testsome
  std::vector<int> done_;

  std::mutex mutex_;
  std::condition_variable work_;        // for the thread
  std::condition_variable over_;        // for those who wait
  std::vector<std::size_t> under_way_;  // slots of operations, in the order of their start
  std::vector<std::size_t> looked_at_;  // a copy, for which the thread needs no lock
  bool is_waited_for_ = false;
  bool stopping_ = false;
  std::optional<Error> error_;
  std::thread thread_;
};

}  // namespace mylos
