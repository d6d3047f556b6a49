#include "mylos/comm/group/collective_queue.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/memory_is_host.hpp"
#include "mylos/comm/group/exchange_staging.hpp"
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

void CollectiveQueue::resize(std::span<const SlotBytes> slots) {
  const std::lock_guard lock(mutex_);
  operations_.assign(slots.size(), MpiOperation{});
  pending_.reserve(operations_.size());
  polled_.reserve(operations_.size());
  first_request_.assign(1, 0);
  for (const SlotBytes& slot : slots)
    first_request_.push_back(first_request_.back() + MpiOperation::requests_of(slot.messages));
  requests_.assign(first_request_.back(), MPI_REQUEST_NULL);
  done_.resize(requests_.size());
  statuses_.resize(requests_.size());
}

std::span<MPI_Request> CollectiveQueue::requests_of(std::size_t slot) {
  return std::span(requests_).subspan(first_request_[slot], first_request_[slot + 1] - first_request_[slot]);
}

void CollectiveQueue::start(const Execution& kernels, std::size_t slot, const MpiPlan& plan) {
  group_.require_usable();
  const std::span<MPI_Request> requests = requests_of(slot);
  if (requests.size() < MpiOperation::requests_of(plan.messages.size())) {
    fail_run(errors::internal, "{}: slot {} was not reserved for {} messages", plan.name, slot,
             plan.messages.size());
  }
  finish_kernels(kernels);
  group_.mark_busy(plan.name);
  ++in_flight_;
  {
    const std::lock_guard lock(mutex_);
    operations_[slot] = MpiOperation(plan, requests);
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
  for (const std::size_t slot : slots) {
    MpiOperation& operation = operations_[slot];
    if (!operation.has_begun()) operation.begin(group_, mpi_);
  }
  test_requests();
  bool has_changed = false;
  for (const std::size_t slot : slots)
    has_changed = operations_[slot].advance(group_.size(), kernels) || has_changed;
  return has_changed;
}

/// Tests all requests; completed ones become MPI_REQUEST_NULL. One MPI call tests all because each call polls
/// the network.
void CollectiveQueue::test_requests() {
  int done = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done, done_.data(),
                                statuses_.data());
  const bool is_in_status = code == MPI_ERR_IN_STATUS;
  if (!is_in_status) group_.check(code, "collective");
  if (done == MPI_UNDEFINED) return;  // none is pending
  for (std::size_t i = 0; i < static_cast<std::size_t>(done); ++i) {
    const auto request = static_cast<std::size_t>(done_[i]);
    const auto next = std::upper_bound(first_request_.begin(), first_request_.end(), request);
    const auto slot = static_cast<std::size_t>(next - first_request_.begin() - 1);
    operations_[slot].check_request(group_, request - first_request_[slot],
                                    is_in_status ? statuses_[i].MPI_ERROR : MPI_SUCCESS, statuses_[i]);
  }
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
  for (MPI_Request& request : requests_) group_.abandon(request);
  pending_.clear();
}

}  // namespace mylos
