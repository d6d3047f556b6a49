// shuffle = "blocks": a rank reads the samples of each window that it will use, in file order, and stores
// them in the order of use. It reads the next window in parts while it uses the current one.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "mylos/data/feed/sample_source.hpp"
#include "mylos/data/files/host_array.hpp"

namespace mylos {
namespace {

constexpr std::int64_t window_piece_bytes = std::int64_t{1} << 20;
/// Reading through unused samples is faster than a new read up to about this number of bytes.
constexpr std::int64_t gap_bytes = std::int64_t{64} << 10;

/// A sample of a window: its index in the file, and its index in the order of use.
struct Entry {
  std::int64_t index;
  std::int64_t use;
};

std::int64_t rows_per_piece(const DatasetShape& shape) {
  return std::max<std::int64_t>(1, window_piece_bytes / (shape.input_bytes() + shape.truth_bytes()));
}

/// The samples of one window.
struct WindowStore {
  WindowStore(const DatasetShape& shape, std::int64_t capacity)
      : inputs("data window inputs", capacity * shape.input_bytes()),
        truth("data window targets", capacity * shape.truth_bytes()),
        index_in_use_order(static_cast<std::size_t>(capacity)) {
    in_file_order.reserve(static_cast<std::size_t>(capacity));
  }
  [[nodiscard]] bool complete() const { return read == in_file_order.size(); }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(in_file_order.size()); }

  HostBytes inputs;
  HostBytes truth;
  std::vector<std::int64_t> index_in_use_order;
  std::vector<Entry> in_file_order;
  std::size_t read = 0;  // entries of in_file_order that are in memory
};

class SamplesByWindows : public SampleSource {
 public:
  SamplesByWindows(const SampleStore& store, Split split, const Sampler& sampler, Share share)
      : store_(store),
        split_(split),
        sampler_(sampler),
        planned_(sampler.options().batch, share),
        current_(store.shape(), planned_.max_within(sampler.window_samples())),
        upcoming_(store.shape(), planned_.max_within(sampler.window_samples())),
        input_piece_("data piece inputs", rows_per_piece(store.shape()) * store.shape().input_bytes()),
        truth_piece_("data piece targets", rows_per_piece(store.shape()) * store.shape().truth_bytes()) {}

  Sample next() override {
    while (next_use_ == current_.count()) {
      while (!upcoming_.complete()) read_piece();
      std::swap(current_, upcoming_);
      next_use_ = 0;
      plan_ahead();
    }
    const DatasetShape& shape = store_.shape();
    const Sample sample{current_.inputs.data() + next_use_ * shape.input_bytes(),
                        current_.truth.data() + next_use_ * shape.truth_bytes(),
                        current_.index_in_use_order[static_cast<std::size_t>(next_use_)]};
    ++next_use_;
    return sample;
  }

  void seek(std::int64_t step) override {
    planned_.seek(step);
    current_.in_file_order.clear();
    current_.read = 0;
    next_use_ = 0;
    plan_ahead();
  }

  bool work_ahead() override {
    if (upcoming_.complete()) return false;
    read_piece();
    return true;
  }

 private:
  /// Determines the samples of the next window that this rank uses.
  void plan_ahead() {
    upcoming_.in_file_order.clear();
    upcoming_.read = 0;
    const Sampler::Window window = sampler_.window_at(planned_.current());
    while (planned_.current() < window.end) {
      // The sampler is asked for runs of positions: setting up a window costs more than an index.
      const std::int64_t first = planned_.current();
      const auto use = upcoming_.in_file_order.size();
      std::size_t run = 0;
      while (planned_.current() < window.end &&
             planned_.current() == first + static_cast<std::int64_t>(run)) {
        planned_.advance();
        ++run;
      }
      const std::span indices(upcoming_.index_in_use_order.data() + use, run);
      sampler_.indices_at(first, indices);
      for (std::size_t i = 0; i < run; ++i) {
        indices[i] += split_.first;
        upcoming_.in_file_order.push_back({indices[i], static_cast<std::int64_t>(use + i)});
      }
    }
    std::sort(upcoming_.in_file_order.begin(), upcoming_.in_file_order.end(),
              [](const Entry& left, const Entry& right) { return left.index < right.index; });
  }

  /// Reads the next range of the file that contains samples of this rank, and stores them in the order of
  /// use.
  void read_piece() {
    const DatasetShape& shape = store_.shape();
    const auto& entries = upcoming_.in_file_order;
    const std::int64_t first = entries[upcoming_.read].index;
    const std::int64_t largest_gap = 1 + gap_bytes / shape.input_bytes();
    std::size_t end = upcoming_.read + 1;
    while (end < entries.size() && entries[end].index < first + rows_per_piece(shape) &&
           entries[end].index - entries[end - 1].index <= largest_gap) {
      ++end;
    }
    const std::int64_t rows = entries[end - 1].index - first + 1;
    store_.read_inputs(first, rows, input_piece_.data());
    store_.read_truth(first, rows, truth_piece_.data());
    const auto copy_row = [](const HostBytes& from, std::int64_t row, const HostBytes& to, std::int64_t use,
                             std::int64_t bytes) {
      std::copy_n(from.data() + row * bytes, bytes, to.data() + use * bytes);
    };
    for (; (upcoming_.read) < end; ++upcoming_.read) {
      const Entry& entry = entries[upcoming_.read];
      copy_row(input_piece_, entry.index - first, upcoming_.inputs, entry.use, shape.input_bytes());
      copy_row(truth_piece_, entry.index - first, upcoming_.truth, entry.use, shape.truth_bytes());
    }
  }

  const SampleStore& store_;
  Split split_;
  Sampler sampler_;
  RankPositions planned_;  // the first position that is in no window yet
  WindowStore current_;
  WindowStore upcoming_;
  HostBytes input_piece_;
  HostBytes truth_piece_;
  std::int64_t next_use_ = 0;
};

}  // namespace

std::unique_ptr<SampleSource> samples_by_windows(const SampleStore& store, Split split,
                                                 const Sampler& sampler, Share share) {
  return std::make_unique<SamplesByWindows>(store, split, sampler, share);
}

std::int64_t memory_of_windows(const DatasetShape& shape, const Sampler& sampler, Share share) {
  const std::int64_t capacity =
      RankPositions(sampler.options().batch, share).max_within(sampler.window_samples());
  const std::int64_t row = shape.input_bytes() + shape.truth_bytes();
  const auto bookkeeping = static_cast<std::int64_t>(sizeof(Entry) + sizeof(std::int64_t));
  return 2 * capacity * (row + bookkeeping) + rows_per_piece(shape) * row;
}

}  // namespace mylos
