// StoreOfBoxes: the boxes of the samples of another store, whose complete samples are read.
//
// The formats of prepared files have digests of complete rows, so that a box cannot be checked without the
// rest of its sample.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/data/files/host_array.hpp"
#include "mylos/data/files/sample_store.hpp"

namespace mylos {

class StoreOfBoxes final : public SampleStore {
 public:
  /// `whole` must outlive this store and keep its order of columns. `grid`: of its samples, extents, then
  /// channels. `whole_truth`: labels or targets are those of the whole sample; otherwise throws Error
  /// (bad_value) if the targets do not lie on the points of the inputs.
  StoreOfBoxes(const SampleStore& whole, const GridBox& box, const std::vector<std::int64_t>& grid,
               bool whole_truth);

  [[nodiscard]] const std::string& path() const override { return whole_.path(); }
  [[nodiscard]] const DatasetShape& shape() const override { return shape_; }
  [[nodiscard]] const std::vector<std::int64_t>& grid() const override { return grid_; }
  [[nodiscard]] SampleMask mask() const override;
  [[nodiscard]] MissingNumbers missing() const override { return whole_.missing(); }
  [[nodiscard]] std::vector<std::string> class_names() const override { return whole_.class_names(); }
  [[nodiscard]] const std::vector<std::string>& input_names() const override { return input_names_; }
  [[nodiscard]] const std::vector<std::string>& target_names() const override { return target_names_; }
  void reorder(const ColumnOrder& inputs, const ColumnOrder& targets) override;
  [[nodiscard]] std::string location_of_input(std::int64_t sample, std::int64_t column) const override;
  [[nodiscard]] std::string location_of_target(std::int64_t sample, std::int64_t column) const override;

  void read_inputs(std::int64_t first, std::int64_t count, void* destination) const override;
  void read_labels(std::int64_t first, std::int64_t count, std::int32_t* destination) const override;
  void read_targets(std::int64_t first, std::int64_t count, float* destination) const override;

  /// The whole store has statistics, identity and checks.
  [[nodiscard]] bool has_channel_statistics() const override { return whole_.has_channel_statistics(); }
  [[nodiscard]] ColumnStatistics input_statistics(Split part) const override;
  [[nodiscard]] ColumnStatistics target_statistics(Split part) const override;
  [[nodiscard]] std::string identity() const override;
  void require_valid_values() const override {}
  void require_label(std::int64_t row, std::int32_t label) const override {
    whole_.require_label(row, label);
  }
  /// Those of the whole store among them.
  [[nodiscard]] std::int64_t reading_bytes() const override;
  [[nodiscard]] std::int64_t block_samples() const override { return whole_.block_samples(); }

 private:
  /// Reads rows by read(first, count, buffer) and copies of each point in the box `point_bytes`.
  template <class Read>
  void read_boxes(std::int64_t first, std::int64_t count, std::int64_t point_bytes, std::byte* destination,
                  const Read& read) const;
  /// Returns the column of the whole sample.
  [[nodiscard]] std::int64_t column_of_whole(std::int64_t column, std::int64_t columns_of_point) const;
  [[noreturn]] void refuse_whole(const char* what) const;

  const SampleStore& whole_;
  GridBox box_;
  bool whole_truth_;
  DatasetShape shape_;
  std::vector<std::int64_t> grid_;
  std::vector<std::string> input_names_;
  std::vector<std::string> target_names_;
  std::int64_t buffer_bytes_;
  HostBytes buffer_;
  mutable std::mutex mutex_;  // guards the buffer
};

}  // namespace mylos
