// The sources of the loader's samples, in the order in which a rank consumes them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "mylos/data/feed/sampler.hpp"
#include "mylos/data/feed/share.hpp"
#include "mylos/data/files/sample_store.hpp"

namespace mylos {

class Augmentation;

/// A sample in its stored form; valid until the next call of SampleSource::next.
struct Sample {
  const std::byte* input = nullptr;
  const std::byte* truth = nullptr;
  std::int64_t index = 0;                  // in the file
  const Augmentation* moved_by = nullptr;  // null: its columns are the file's
};

/// The positions that one rank consumes: its local batch of step 0, of step 1 ...
class RankPositions {
 public:
  RankPositions(std::int64_t batch, Share share) : batch_(batch), share_(share) {}
  [[nodiscard]] std::int64_t current() const { return step_ * batch_ + share_.first + within_; }
  void advance() {
    if (++within_ == share_.count) {
      within_ = 0;
      ++step_;
    }
  }
  void seek(std::int64_t step) {
    step_ = step;
    within_ = 0;
  }
  /// Returns the maximum number of them in a range of `length` positions.
  [[nodiscard]] std::int64_t max_within(std::int64_t length) const {
    return std::min(length, (length / batch_ + 2) * share_.count);
  }

 private:
  std::int64_t batch_;
  Share share_;
  std::int64_t step_ = 0;
  std::int64_t within_ = 0;
};

class SampleSource {
 public:
  virtual ~SampleSource() = default;
  [[nodiscard]] virtual Sample next() = 0;
  virtual void seek(std::int64_t step) = 0;
  /// Reads a part of the data for later samples. Returns false if there is nothing to do.
  virtual bool work_ahead() = 0;
};

/// shuffle = "samples": stores all samples of the split in memory.
[[nodiscard]] std::unique_ptr<SampleSource> samples_in_memory(const SampleStore& store, Split split,
                                                              const Sampler& sampler, Share share);
[[nodiscard]] std::int64_t memory_of_samples(const DatasetShape& shape, Split split);

/// shuffle = "blocks": stores two windows of blocks in memory.
[[nodiscard]] std::unique_ptr<SampleSource> samples_by_windows(const SampleStore& store, Split split,
                                                               const Sampler& sampler, Share share);
[[nodiscard]] std::int64_t memory_of_windows(const DatasetShape& shape, const Sampler& sampler, Share share);

}  // namespace mylos
