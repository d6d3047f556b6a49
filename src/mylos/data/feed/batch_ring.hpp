// BatchRing: a thread that makes batches ahead of their use, in a ring of buffers.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "mylos/base/device/device_event.hpp"
#include "mylos/data/feed/batch.hpp"

namespace mylos {

/// The callbacks of the thread. No other thread may call them between BatchRing::start and stop.
class BatchMaker {
 public:
  virtual ~BatchMaker() = default;
  /// Makes the first batch of `step` the next one.
  virtual void seek_step(std::int64_t step) = 0;
  /// Makes the next batch in buffer `buffer`.
  [[nodiscard]] virtual Batch make(std::size_t buffer) = 0;
  /// Reads a part of the data for later batches. Returns false if there is nothing to do.
  virtual bool work_ahead() = 0;
};

class BatchRing {
 public:
  /// Buffers: the batch returned last, the one before, and two that are filled in advance.
  static constexpr std::size_t size = 4;

  /// `batch`: samples per step over all ranks.
  BatchRing(BatchMaker& maker, std::int64_t batch) : maker_(maker), batch_(batch) {}
  ~BatchRing() { stop(); }
  BatchRing(const BatchRing&) = delete;
  BatchRing& operator=(const BatchRing&) = delete;

  /// Starts or continues after `position` consumed samples.
  void start(std::int64_t position);
  void stop();
  /// Waits for the next batch and returns it. Rethrows what the maker threw.
  [[nodiscard]] const Batch& next();
  /// Does what BatchReader's function does: the thread waits before it makes another batch in that buffer.
  void keep_until_read(const Execution& copies);

 private:
  static std::size_t slot(std::int64_t number) { return static_cast<std::size_t>(number) % size; }
  [[nodiscard]] bool has_room() const;
  void run();

  BatchMaker& maker_;
  std::int64_t batch_;
  std::array<Batch, size> batches_;
  std::array<DeviceEvent, size> read_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t filled_ = 0;  // batches that the thread has made
  std::int64_t taken_ = 0;   // batches that next() has returned
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace mylos
