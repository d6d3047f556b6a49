// How much of a file shuffle = "blocks" reads at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "mylos/data/feed/loader.hpp"

namespace mylos::samples_by_windows_test {

/// Samples of 256 KiB and a target each, all 0. At most those that fit the buffer are written.
class WideSamples final : public SampleStore {
 public:
  static constexpr std::int64_t fitting = 3;  // with their targets, in the 1 MiB of a piece

  explicit WideSamples(std::int64_t samples)
      : shape_{.task = Task::regression, .samples = samples, .features = 1 << 16, .outputs = 1} {}

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] const DatasetShape& shape() const override { return shape_; }
  [[nodiscard]] const std::vector<std::int64_t>& grid() const override { return grid_; }
  [[nodiscard]] const std::vector<std::string>& input_names() const override { return names_; }
  [[nodiscard]] const std::vector<std::string>& target_names() const override { return names_; }
  void reorder(const ColumnOrder& /*inputs*/, const ColumnOrder& /*targets*/) override {}
  [[nodiscard]] std::string location_of_input(std::int64_t, std::int64_t) const override { return ""; }
  [[nodiscard]] std::string location_of_target(std::int64_t, std::int64_t) const override { return ""; }
  void read_inputs(std::int64_t /*first*/, std::int64_t count, void* destination) const override {
    most_read_ = std::max(most_read_.load(), count);  // on the reader's thread alone
    std::fill_n(static_cast<float*>(destination), std::min(count, fitting) * shape_.features, 0.0f);
  }
  void read_labels(std::int64_t, std::int64_t, std::int32_t*) const override {}
  void read_targets(std::int64_t /*first*/, std::int64_t count, float* destination) const override {
    std::fill_n(destination, std::min(count, fitting), 0.0f);
  }
  [[nodiscard]] ColumnStatistics input_statistics(Split /*part*/) const override { return {}; }
  [[nodiscard]] ColumnStatistics target_statistics(Split /*part*/) const override { return {}; }
  [[nodiscard]] std::string identity() const override { return ""; }
  void require_valid_values() const override {}
  [[nodiscard]] std::int64_t reading_bytes() const override { return 0; }

  [[nodiscard]] std::int64_t most_read() const { return most_read_; }

 private:
  std::string path_ = "wide samples";
  DatasetShape shape_;
  std::vector<std::int64_t> grid_;
  std::vector<std::string> names_;
  mutable std::atomic<std::int64_t> most_read_ = 0;
};

TEST(SamplesByWindows, AreReadInPiecesThatTheirBufferHolds) {
  const WideSamples store(32);
  const Sampler sampler(
      {.samples = 32, .batch = 4, .shuffle = Shuffle::blocks, .block_samples = 16, .window_blocks = 2});
  Loader loader(store, {0, 32}, sampler, {}, {});
  for (int step = 0; step < 12; ++step) (void)loader.next();
  EXPECT_EQ(store.most_read(), WideSamples::fitting);
}

}  // namespace mylos::samples_by_windows_test
