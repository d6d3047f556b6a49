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

/// What the thread calls. Nothing else may call it between BatchRing::start and stop.
class BatchMaker {
 public:
  virtual ~BatchMaker() = default;
  /// The next batch is the first of `step`.
  virtual void seek_step(std::int64_t step) = 0;
  /// Makes the next batch in the buffer of this number.
  [[nodiscard]] virtual Batch make(std::size_t buffer) = 0;
  /// Reads a piece of what will be needed later. False: there is nothing to do.
  virtual bool work_ahead() = 0;
};

class BatchRing {
 public:
  /// Buffers: the batch given out last, the one before, and two to be filled ahead.
  static constexpr std::size_t size = 4;

  /// `batch`: samples of a step over all ranks.
  BatchRing(BatchMaker& maker, std::int64_t batch) : maker_(maker), batch_(batch) {}
  ~BatchRing() { stop(); }
  BatchRing(const BatchRing&) = delete;
  BatchRing& operator=(const BatchRing&) = delete;

  /// Begins, or goes on, at `position` samples consumed.
  void start(std::int64_t position);
  void stop();
  /// Waits for the next batch. Throws what the maker threw in its place.
  [[nodiscard]] const Batch& next();
  /// As BatchReader's: the thread waits before it makes another batch in that buffer.
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
  std::int64_t filled_ = 0;  // batches the thread has made
  std::int64_t taken_ = 0;   // batches given out
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace mylos
