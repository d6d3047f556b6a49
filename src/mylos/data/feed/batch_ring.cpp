#include "mylos/data/feed/batch_ring.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"

namespace mylos {
namespace {

/// Batches that stay valid after next() returned them: the last one and the one before.
constexpr std::int64_t kept_batches = 2;

}  // namespace

void BatchRing::start(std::int64_t position) {
  stop();
  if (position < 0 || position % batch_ != 0) {
    fail_run(errors::internal, "data position {} is not at a step's start (batch {})", position, batch_);
  }
  filled_ = taken_ = 0;
  stopping_ = false;
  error_ = nullptr;
  maker_.seek_step(position / batch_);
  thread_ = std::thread([this] { run(); });
}

void BatchRing::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

const Batch& BatchRing::next() {
  std::unique_lock lock(mutex_);
  ++taken_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return filled_ >= taken_ || error_; });
  if (filled_ < taken_) std::rethrow_exception(error_);
  return batches_[slot(taken_ - 1)];
}

void BatchRing::keep_until_read(const Execution& copies) {
  read_[slot(taken_ - 1)].record(
      copies);  // the thread reuses this buffer only after two more calls of next()
}

bool BatchRing::has_room() const {
  return filled_ - std::max<std::int64_t>(0, taken_ - kept_batches) < static_cast<std::int64_t>(size);
}

/// The thread's function. It makes batches first; while the ring is full, it reads data for later batches.
void BatchRing::run() {
  try {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (stopping_) return;
      if (!has_room()) {
        lock.unlock();
        if (maker_.work_ahead()) continue;
        lock.lock();
        changed_.wait(lock, [&] { return stopping_ || has_room(); });
        continue;
      }
      lock.unlock();
      read_[slot(filled_)].wait();
      batches_[slot(filled_)] = maker_.make(slot(filled_));  // only this thread changes filled_
      lock.lock();
      ++filled_;
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
    changed_.notify_all();
  }
}

}  // namespace mylos
