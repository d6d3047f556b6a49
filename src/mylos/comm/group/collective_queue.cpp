#include "mylos/comm/group/collective_queue.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/memory_is_host.hpp"
#include "mylos/comm/ranks/poll_pause.hpp"

namespace mylos {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::microseconds;

/// Pauses between two polls while nobody waits. A poll costs the computing thread about 10 us of its core.
/// Data that arrives during the longest pause (0.1 MB at 1 Gbit/s) fits the buffers of the system.
constexpr Microseconds shortest_pause{500};
constexpr Microseconds longest_pause{1000};
/// A poll that took longer than this has moved data; the next poll is likely to move data too.
constexpr Microseconds moving_time{20};
/// Ranks may share cores: a waiting thread yields its core after this many polls, and later sleeps briefly.
constexpr unsigned queue_polls_per_yield = 16;

}  // namespace

MpiProgress possible_progress() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return memory_is_host && level >= MPI_THREAD_SERIALIZED ? MpiProgress::by_thread : MpiProgress::by_caller;
}

CollectiveQueue::CollectiveQueue(RankGroup& ranks, MpiProgress progress)
    : group_(ranks), mpi_(ranks.mpi()), progress_(progress) {
  resize(1);
  if (progress == MpiProgress::by_thread) start_thread();
}

CollectiveQueue::~CollectiveQueue() {
  abandon_in_flight();
}

/// Falls back to progress by the caller if the system cannot create a thread. Other ranks see no difference.
void CollectiveQueue::start_thread() {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    progress_ = MpiProgress::by_caller;
  }
}

void CollectiveQueue::resize(std::size_t slots) {
  const std::lock_guard lock(mutex_);
  operations_.assign(slots, MpiOperation{});
  pending_.reserve(operations_.size());
  polled_.reserve(operations_.size());
  requests_.reserve(operations_.size());
  done_.resize(operations_.size());
}

void CollectiveQueue::start(const Execution& kernels, std::size_t slot, const MpiPlan& plan) {
  group_.require_usable();
  finish_kernels(kernels);
  group_.mark_busy(plan.name);
  ++in_flight_;
  {
    const std::lock_guard lock(mutex_);
    operations_[slot] = MpiOperation(plan);
    pending_.push_back(slot);
  }
  if (progress_ == MpiProgress::by_thread) {
    work_.notify_one();
  } else {
    run_or_lose([&] { operations_[slot].begin(group_, mpi_); });
  }
}

bool CollectiveQueue::all_complete() {
  const std::lock_guard lock(mutex_);
  return pending_.empty();
}

void CollectiveQueue::wait(const Execution& kernels, std::size_t slot) {
  group_.require_usable();
  if (progress_ == MpiProgress::by_thread) {
    wait_for_thread(slot);
  } else {
    poll_until_complete(kernels, slot);
  }
  operations_[slot] = MpiOperation{};
  if (--in_flight_ == 0) group_.mark_idle();
}

void CollectiveQueue::wait_for_thread(std::size_t slot) {
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  if (!is_pending(slot)) return;
  is_waited_for_ = true;
  work_.notify_one();
  completed_.wait_for(lock, std::chrono::duration<double>(group_.timeout_s()),
                      [&] { return !is_pending(slot) || error_; });
  is_waited_for_ = false;
  if (!is_pending(slot)) return;
  const Error cause = error_ ? *error_ : group_.late(name_in(slot), seconds_since(start));
  lock.unlock();
  lose(cause);
}

void CollectiveQueue::poll_until_complete(const Execution& kernels, std::size_t slot) {
  const auto start = Clock::now();
  auto moved = start;
  for (unsigned polls = 1; is_pending(slot); ++polls) {
    const auto poll_start = Clock::now();
    bool is_moving = false;
    run_or_lose([&] { is_moving = advance(pending_, &kernels); });
    remove_complete();
    if (is_moving || Clock::now() - poll_start > moving_time) moved = poll_start;
    if (polls % queue_polls_per_yield != 0) continue;
    if (const auto pause = pause_after(poll_start - moved); pause.count() > 0)
      std::this_thread::sleep_for(pause);
    if (seconds_since(start) > group_.timeout_s()) lose(group_.late(name_in(slot), seconds_since(start)));
    std::this_thread::yield();
  }
}

/// The loop of the queue's thread.
void CollectiveQueue::run() {
  Microseconds pause = shortest_pause;
  unsigned polls = 0;
  Clock::time_point moved;      // time of the last poll that moved data, or of the start of a wait
  bool was_waited_for = false;  // at the previous poll
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stopping_ || !pending_.empty(); });
    if (stopping_) return;
    polled_.assign(pending_.begin(), pending_.end());
    const bool begins_wait = is_waited_for_ && !was_waited_for;
    was_waited_for = is_waited_for_;
    lock.unlock();
    const auto start = Clock::now();
    if (begins_wait) moved = start;
    std::optional<Error> error;
    bool is_moving = false;
    try {
      is_moving = advance(polled_, nullptr) || Clock::now() - start > moving_time;
    } catch (const std::exception& failure) {
      error = Error::of(failure);
    }
    if (++polls % queue_polls_per_yield == 0) std::this_thread::yield();
    lock.lock();
    if (error) {
      error_ = error;
      completed_.notify_all();
      return;
    }
    if (remove_complete()) completed_.notify_all();
    pause = is_moving ? shortest_pause : std::min(2 * pause, longest_pause);
    const std::size_t left = pending_.size();
    if (is_moving) moved = start;
    if (was_waited_for && is_waited_for_) {
      const Microseconds rest = pause_after(start - moved);
      if (rest.count() > 0)
        work_.wait_for(lock, rest, [&] { return stopping_ || pending_.size() != left || left == 0; });
      continue;
    }
    work_.wait_for(lock, pause,
                   [&] { return stopping_ || is_waited_for_ || pending_.size() != left || left == 0; });
  }
}

/// Starts and advances the operations in `slots`. Returns whether any has advanced.
bool CollectiveQueue::advance(const std::vector<std::size_t>& slots, const Execution* kernels) {
  requests_.clear();
  for (const std::size_t slot : slots) {
    MpiOperation& operation = operations_[slot];
    if (!operation.has_begun()) operation.begin(group_, mpi_);
    requests_.push_back(operation.request());
  }
  test_requests(slots);
  bool has_changed = false;
  for (const std::size_t slot : slots)
    has_changed = operations_[slot].advance(group_.size(), kernels) || has_changed;
  return has_changed;
}

/// Tests all requests; completed ones become MPI_REQUEST_NULL. One MPI call tests all because each call polls
/// the network.
void CollectiveQueue::test_requests(const std::vector<std::size_t>& slots) {
  int done = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done, done_.data(),
                                MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < slots.size(); ++i) operations_[slots[i]].request() = requests_[i];
  group_.check(code, "collective");
}

bool CollectiveQueue::is_pending(std::size_t slot) const {
  return std::find(pending_.begin(), pending_.end(), slot) != pending_.end();
}

/// Removes completed operations. Returns whether there were any.
bool CollectiveQueue::remove_complete() {
  return 0 < std::erase_if(pending_, [&](std::size_t slot) { return operations_[slot].is_complete(); });
}

template <class Action>
void CollectiveQueue::run_or_lose(const Action& action) {
  try {
    action();
  } catch (const std::exception& failure) {
    lose(Error::of(failure));
  }
}

/// Abandons all operations and marks the group as lost.
void CollectiveQueue::lose(const Error& error) {
  abandon_in_flight();
  group_.lose(error);
  throw error;
}

bool CollectiveQueue::end() {
  abandon_in_flight();
  return !group_.has_abandoned();
}

void CollectiveQueue::abandon() {
  if (all_complete()) return;
  abandon_in_flight();
  group_.lose(Error(ExitCode::failed, errors::communication_failed,
                    "collectives were abandoned while they were in flight"));
}

void CollectiveQueue::abandon_in_flight() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  if (thread_.joinable()) thread_.join();
  for (const std::size_t slot : pending_) group_.abandon(operations_[slot].request());
  pending_.clear();
}

}  // namespace mylos
