#include "mylos/data/loader.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "batch_buffer.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/units.hpp"
#include "mylos/data/share.hpp"
#include "mylos/io/system_memory.hpp"
#include "sample_source.hpp"

namespace mylos {
namespace {

/// Batches that stay valid after they are given out: the last one and the one before.
constexpr std::int64_t kept_batches = 2;
/// Buffers of the ring: those, and two to be filled ahead.
constexpr std::size_t ring_size = 4;

}  // namespace

class Loader::Reader {
 public:
  Reader(const Dataset& dataset, Split split, const Sampler& sampler, const Normalizer& normalizer,
         const LoaderOptions& options)
      : dataset_(dataset),
        normalizer_(normalizer),
        batch_(sampler.options().batch),
        share_(batch_share(batch_, options.rank, options.ranks)),
        micro_batch_(micro_batch_samples(share_.count, options.micro_batch)),
        source_(make_source(split, sampler, options)),
        ring_{make_buffer(options), make_buffer(options), make_buffer(options), make_buffer(options)} {
    start(options.first_position);
  }

  ~Reader() { stop(); }

  const Batch& next() {
    std::unique_lock lock(mutex_);
    ++taken_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return filled_ >= taken_ || error_; });
    if (filled_ < taken_) std::rethrow_exception(error_);
    return batches_[slot(taken_ - 1)];
  }

  void seek(std::int64_t position) {
    stop();
    start(position);
  }

 private:
  std::unique_ptr<SampleSource> make_source(Split split, const Sampler& sampler,
                                            const LoaderOptions& options) {
    if (sampler.options().samples != split.count) {
      fail_run("{}: the sampler orders {} samples, the split has {}", dataset_.path(),
               sampler.options().samples, split.count);
    }
    if (sampler.options().shuffle == Shuffle::blocks) {
      return samples_by_windows(dataset_, split, sampler, share_);
    }
    const std::int64_t needed = memory_of_samples(dataset_.shape(), split);
    const std::int64_t available = available_host_memory() / options.ranks_on_node;
    if (needed > available / 2) {
      fail_input(
          "{}: its {} training samples take {} in memory, more than half of the {} that each rank has; "
          "data.shuffle = \"blocks\" reads them in pieces",
          dataset_.path(), split.count, format_bytes(needed), format_bytes(available));
    }
    return samples_in_memory(dataset_, split, sampler, share_);
  }

  BatchBuffer make_buffer(const LoaderOptions& options) const {
    return BatchBuffer(dataset_.shape(), options.type, micro_batch_);
  }

  static std::size_t slot(std::int64_t number) { return static_cast<std::size_t>(number) % ring_size; }

  void start(std::int64_t position) {
    if (position < 0 || position % batch_ != 0) {
      fail_run("data position {} is not at a step's start (batch {})", position, batch_);
    }
    step_ = position / batch_;
    within_share_ = 0;
    filled_ = taken_ = 0;
    stopping_ = false;
    error_ = nullptr;
    source_->seek(step_);
    thread_ = std::thread([this] { run(); });
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  /// The thread. Batches come first; while the ring is full, what later batches need is read.
  void run() {
    try {
      for (;;) {
        std::unique_lock lock(mutex_);
        if (stopping_) return;
        if (!has_room()) {
          lock.unlock();
          if (source_->work_ahead()) continue;
          lock.lock();
          changed_.wait(lock, [&] { return stopping_ || has_room(); });
          continue;
        }
        lock.unlock();
        fill(slot(filled_));  // only this thread changes filled_
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

  [[nodiscard]] bool has_room() const {
    return filled_ - std::max<std::int64_t>(0, taken_ - kept_batches) < static_cast<std::int64_t>(ring_size);
  }

  void fill(std::size_t number) {
    const std::int64_t samples = std::min(micro_batch_, share_.count - within_share_);
    for (std::int64_t row = 0; row < samples; ++row) {
      ring_[number].put(row, source_->next(), dataset_, normalizer_);
    }
    batches_[number] = ring_[number].batch(samples, share_.first + within_share_, step_);
    within_share_ += samples;
    if (within_share_ == share_.count) {
      within_share_ = 0;
      ++step_;
    }
  }

  Dataset dataset_;
  Normalizer normalizer_;
  std::int64_t batch_;
  Share share_;
  std::int64_t micro_batch_;
  std::unique_ptr<SampleSource> source_;
  std::array<BatchBuffer, ring_size> ring_;
  std::array<Batch, ring_size> batches_;

  // Of the batch that the thread fills next.
  std::int64_t step_ = 0;
  std::int64_t within_share_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t filled_ = 0;  // batches the thread has made
  std::int64_t taken_ = 0;   // batches given out
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

Loader::Loader(const Dataset& dataset, Split split, const Sampler& sampler, const Normalizer& normalizer,
               const LoaderOptions& options)
    : reader_(std::make_unique<Reader>(dataset, split, sampler, normalizer, options)) {}

Loader::~Loader() = default;

const Batch& Loader::next() {
  return reader_->next();
}

void Loader::seek(std::int64_t position) {
  reader_->seek(position);
}

std::int64_t Loader::memory_bytes(const DatasetShape& shape, Split split, const Sampler& sampler,
                                  const LoaderOptions& options) {
  const Share share = batch_share(sampler.options().batch, options.rank, options.ranks);
  const std::int64_t samples = micro_batch_samples(share.count, options.micro_batch);
  const std::int64_t source = sampler.options().shuffle == Shuffle::samples
                                  ? memory_of_samples(shape, split)
                                  : memory_of_windows(shape, sampler, share);
  return source +
         static_cast<std::int64_t>(ring_size) * BatchBuffer::memory_bytes(shape, options.type, samples);
}

}  // namespace mylos
