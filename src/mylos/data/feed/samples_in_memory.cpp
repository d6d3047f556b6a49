// shuffle = "samples": reads the split once, sequentially, and stores it in memory in its stored type.
#include <algorithm>
#include <array>

#include "mylos/data/feed/sample_source.hpp"
#include "mylos/data/files/host_array.hpp"

namespace mylos {
namespace {

class SamplesInMemory : public SampleSource {
 public:
  SamplesInMemory(const SampleStore& store, Split split, const Sampler& sampler, Share share)
      : store_(store),
        split_(split),
        sampler_(sampler),
        positions_(sampler.options().batch, share),
        inputs_("data inputs", split.count * store.shape().input_bytes()),
        truth_("data targets", split.count * store.shape().truth_bytes()) {}

  Sample next() override {
    if (!read_) read();
    if (next_ == known_.size()) look_up();
    const std::int64_t index = known_[next_++];
    return {inputs_.data() + index * store_.shape().input_bytes(),
            truth_.data() + index * store_.shape().truth_bytes(), split_.first + index};
  }

  void seek(std::int64_t step) override {
    positions_.seek(step);
    next_ = known_.size();
  }

  bool work_ahead() override { return false; }

 private:
  void read() {
    const DatasetShape& shape = store_.shape();
    // Inputs and ground truth of a block may lie in the same chunks of a file.
    const std::int64_t block = store_.block_samples() > 0 ? store_.block_samples() : split_.count;
    for (std::int64_t first = 0; first < split_.count; first += block) {
      const std::int64_t count = std::min(block, split_.count - first);
      store_.read_inputs(split_.first + first, count, inputs_.data() + first * shape.input_bytes());
      store_.read_truth(split_.first + first, count, truth_.data() + first * shape.truth_bytes());
    }
    read_ = true;
  }

  /// Asks the sampler for many consecutive positions at once: setting up an epoch costs more than an index.
  void look_up() {
    for (std::size_t filled = 0; filled < known_.size();) {
      const std::int64_t first = positions_.current();
      std::size_t count = 0;
      while (filled + count < known_.size() &&
             positions_.current() == first + static_cast<std::int64_t>(count)) {
        positions_.advance();
        ++count;
      }
      sampler_.indices_at(first, {known_.data() + filled, count});
      filled += count;
    }
    next_ = 0;
  }

  const SampleStore& store_;
  Split split_;
  Sampler sampler_;
  RankPositions positions_;
  HostBytes inputs_;
  HostBytes truth_;
  std::array<std::int64_t, 256> known_{};
  std::size_t next_ = 256;
  bool read_ = false;
};

}  // namespace

std::unique_ptr<SampleSource> samples_in_memory(const SampleStore& store, Split split, const Sampler& sampler,
                                                Share share) {
  return std::make_unique<SamplesInMemory>(store, split, sampler, share);
}

std::int64_t memory_of_samples(const DatasetShape& shape, Split split) {
  return split.count * (shape.input_bytes() + shape.truth_bytes());
}

}  // namespace mylos
