// shuffle = "samples": reads the split once, sequentially, and stores it in memory in its stored type.
#include <algorithm>
#include <array>

#include "mylos/data/feed/sample_source.hpp"
#include "mylos/data/files/host_array.hpp"

namespace mylos {
namespace {

class SamplesInMemory : public SampleSource {
 public:
  SamplesInMemory(const Dataset& dataset, Split split, const Sampler& sampler, Share share)
      : dataset_(dataset),
        split_(split),
        sampler_(sampler),
        positions_(sampler.options().batch, share),
        inputs_(uninitialised<HostBytes>("data inputs", split.count * dataset.shape().input_bytes())),
        answers_(uninitialised<HostBytes>("data answers", split.count * dataset.shape().answer_bytes())) {}

  Sample next() override {
    if (!read_) read();
    if (next_ == known_.size()) look_up();
    const std::int64_t index = known_[next_++];
    return {inputs_.data() + index * dataset_.shape().input_bytes(),
            answers_.data() + index * dataset_.shape().answer_bytes(), split_.first + index};
  }

  void seek(std::int64_t step) override {
    positions_.seek(step);
    next_ = known_.size();
  }

  bool work_ahead() override { return false; }

 private:
  void read() {
    dataset_.read_inputs(split_.first, split_.count, inputs_.data());
    if (dataset_.task() == Task::classification) {
      dataset_.read_labels(split_.first, split_.count, reinterpret_cast<std::int32_t*>(answers_.data()));
    } else {
      dataset_.read_targets(split_.first, split_.count, reinterpret_cast<float*>(answers_.data()));
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

  Dataset dataset_;
  Split split_;
  Sampler sampler_;
  RankPositions positions_;
  HostBytes inputs_;
  HostBytes answers_;
  std::array<std::int64_t, 256> known_{};
  std::size_t next_ = 256;
  bool read_ = false;
};

}  // namespace

std::unique_ptr<SampleSource> samples_in_memory(const Dataset& dataset, Split split, const Sampler& sampler,
                                                Share share) {
  return std::make_unique<SamplesInMemory>(dataset, split, sampler, share);
}

std::int64_t memory_of_samples(const DatasetShape& shape, Split split) {
  return split.count * (shape.input_bytes() + shape.answer_bytes());
}

}  // namespace mylos
