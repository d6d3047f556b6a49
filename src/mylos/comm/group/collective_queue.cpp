#include "mylos/comm/group/collective_queue.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/comm/ranks/poll_pause.hpp"

namespace mylos {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::microseconds;

/// Between two looks at operations for which nobody waits. A look costs the thread that computes some 10 us
/// of its core. What arrives in the longest pause, 0.1 MB at 1 Gbit/s, waits in the system's buffers.
constexpr Microseconds shortest_pause{500};
constexpr Microseconds longest_pause{1000};
/// A look that took longer than this has moved data: the next one will too.
constexpr Microseconds moving_time{20};
/// Ranks may share cores: who waits offers its core now and then, and after a while sleeps a little.
constexpr unsigned looks_per_yield = 16;

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
  give_up();
}

/// Where the system gives no thread this rank goes on by its caller: the others see no difference.
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
  under_way_.reserve(operations_.size());
  looked_at_.reserve(operations_.size());
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
    under_way_.push_back(slot);
  }
  if (progress_ == MpiProgress::by_thread) {
    work_.notify_one();
  } else {
    or_lose([&] { operations_[slot].begin(group_, mpi_); });
  }
}

bool CollectiveQueue::all_over() {
  const std::lock_guard lock(mutex_);
  return under_way_.empty();
}

void CollectiveQueue::wait(const Execution& kernels, std::size_t slot) {
  group_.require_usable();
  if (progress_ == MpiProgress::by_thread) {
    wait_for_thread(slot);
  } else {
    go_on_until_over(kernels, slot);
  }
  operations_[slot] = MpiOperation{};
  if (--in_flight_ == 0) group_.mark_idle();
}

void CollectiveQueue::wait_for_thread(std::size_t slot) {
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  if (!is_under_way(slot)) return;
  is_waited_for_ = true;
  work_.notify_one();
  over_.wait_for(lock, std::chrono::duration<double>(group_.timeout_s()),
                 [&] { return !is_under_way(slot) || error_; });
  is_waited_for_ = false;
  if (!is_under_way(slot)) return;
  const Error cause = error_ ? *error_ : group_.late(name_in(slot), seconds_since(start));
  lock.unlock();
  lose(cause);
}

void CollectiveQueue::go_on_until_over(const Execution& kernels, std::size_t slot) {
  const auto start = Clock::now();
  auto moved = start;
  for (unsigned looks = 1; is_under_way(slot); ++looks) {
    const auto look = Clock::now();
    bool is_moving = false;
    or_lose([&] { is_moving = advance(under_way_, &kernels); });
    forget_ended();
    if (is_moving || Clock::now() - look > moving_time) moved = look;
    if (looks % looks_per_yield != 0) continue;
    if (const auto pause = pause_after(look - moved); pause.count() > 0) std::this_thread::sleep_for(pause);
    if (seconds_since(start) > group_.timeout_s()) lose(group_.late(name_in(slot), seconds_since(start)));
    std::this_thread::yield();
  }
}

/// The thread.
void CollectiveQueue::run() {
  Microseconds pause = shortest_pause;
  unsigned looks = 0;
  Clock::time_point moved;      // when a look has moved something last, or somebody began to wait
  bool was_waited_for = false;  // at the look before
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stopping_ || !under_way_.empty(); });
    if (stopping_) return;
    looked_at_.assign(under_way_.begin(), under_way_.end());
    const bool begins_wait = is_waited_for_ && !was_waited_for;
    was_waited_for = is_waited_for_;
    lock.unlock();
    const auto start = Clock::now();
    if (begins_wait) moved = start;
    std::optional<Error> error;
    bool is_moving = false;
    try {
      is_moving = advance(looked_at_, nullptr) || Clock::now() - start > moving_time;
    } catch (const std::exception& failure) {
      error = Error(ExitCode::failed, failure.what());
    }
    if (++looks % looks_per_yield == 0) std::this_thread::yield();
    lock.lock();
    if (error) {
      error_ = error;
      over_.notify_all();
      return;
    }
    if (forget_ended()) over_.notify_all();
    pause = is_moving ? shortest_pause : std::min(2 * pause, longest_pause);
    const std::size_t left = under_way_.size();
    if (is_moving) moved = start;
    if (was_waited_for && is_waited_for_) {
      const Microseconds rest = pause_after(start - moved);
      if (rest.count() > 0)
        work_.wait_for(lock, rest, [&] { return stopping_ || under_way_.size() != left || left == 0; });
      continue;
    }
    work_.wait_for(lock, pause,
                   [&] { return stopping_ || is_waited_for_ || under_way_.size() != left || left == 0; });
  }
}

/// True where an operation has come further.
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

/// Those with which MPI is done become MPI_REQUEST_NULL. One call for all: MPI looks at the network in each.
void CollectiveQueue::test_requests(const std::vector<std::size_t>& slots) {
  int done = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done, done_.data(),
                                MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < slots.size(); ++i) operations_[slots[i]].request() = requests_[i];
  group_.check(code, "collective");
}

bool CollectiveQueue::is_under_way(std::size_t slot) const {
  return std::find(under_way_.begin(), under_way_.end(), slot) != under_way_.end();
}

/// True where there was one.
bool CollectiveQueue::forget_ended() {
  return 0 < std::erase_if(under_way_, [&](std::size_t slot) { return operations_[slot].over(); });
}

template <class Action>
void CollectiveQueue::or_lose(const Action& action) {
  try {
    action();
  } catch (const std::exception& failure) {
    lose(Error(ExitCode::failed, failure.what()));
  }
}

/// What is under way cannot end any more, and nothing can follow.
void CollectiveQueue::lose(const Error& error) {
  give_up();
  group_.lose(error);
  throw error;
}

bool CollectiveQueue::end() {
  give_up();
  return !group_.has_abandoned();
}

void CollectiveQueue::abandon() {
  if (all_over()) return;
  give_up();
  group_.lose(Error(ExitCode::failed, "collectives were given up while they were in flight"));
}

void CollectiveQueue::give_up() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  if (thread_.joinable()) thread_.join();
  for (const std::size_t slot : under_way_) group_.abandon(operations_[slot].request());
  under_way_.clear();
}

}  // namespace mylos
