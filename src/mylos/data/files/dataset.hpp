// Dataset: an opened dataset file, checked before memory is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mylos/data/files/checked_array.hpp"
#include "mylos/data/files/sample_store.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

class Dataset final : public SampleStore {
 public:
  /// Throws Error (bad_input) if the file is missing, is not a dataset, has no ground truth although it is
  /// needed, or has parts that do not fit each other.
  explicit Dataset(const std::string& path, GroundTruth truth = GroundTruth::required,
                   Digests digests = Digests::compared);

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] const DatasetShape& shape() const override { return shape_; }
  /// Empty if the file does not state a grid. Two extents alone are an image with one channel.
  [[nodiscard]] const std::vector<std::int64_t>& grid() const override { return grid_; }

  [[nodiscard]] std::vector<std::string> class_names() const override;
  [[nodiscard]] const std::vector<std::string>& input_names() const override { return input_names_; }
  [[nodiscard]] const std::vector<std::string>& target_names() const override { return target_names_; }
  /// read_all() keeps the stored order.
  void reorder(const ColumnOrder& inputs, const ColumnOrder& targets) override;
  /// Returns the column of the file that is read as `column`.
  [[nodiscard]] std::int64_t stored_input(std::int64_t column) const;
  [[nodiscard]] std::int64_t stored_target(std::int64_t column) const;
  [[nodiscard]] std::string location_of_input(std::int64_t sample, std::int64_t column) const override;
  [[nodiscard]] std::string location_of_target(std::int64_t sample, std::int64_t column) const override;

  /// Inputs are read in their stored type. Blocks that are read for the first time are compared with the
  /// file's digests. Throw Error (bad_input) with the rows of a changed block.
  void read_inputs(std::int64_t first, std::int64_t count, void* destination) const override;
  void read_labels(std::int64_t first, std::int64_t count, std::int32_t* destination) const override;
  void read_targets(std::int64_t first, std::int64_t count, float* destination) const override;

  /// As stored by prepare for all samples of the file, otherwise from a pass over them. Stored statistics
  /// without digests, which prepare did not write, are compared with those of a pass. Throw Error (bad_input)
  /// if they differ.
  [[nodiscard]] ColumnStatistics input_statistics(Split part) const override;
  [[nodiscard]] ColumnStatistics target_statistics(Split part) const override;
  [[nodiscard]] ColumnStatistics input_statistics() const { return input_statistics({0, samples()}); }
  [[nodiscard]] ColumnStatistics target_statistics() const { return target_statistics({0, samples()}); }
  /// Nothing if prepare did not make the file.
  [[nodiscard]] std::optional<ColumnStatistics> prepared_input_statistics() const override;
  [[nodiscard]] std::string identity() const override;
  /// Returns the stored digest without a pass; nothing if prepare did not make the file.
  [[nodiscard]] std::optional<std::string> stored_identity() const;

  /// Receives the next `count` samples' inputs or ground truth in stored form.
  using TakeRows = std::function<void(const std::byte* stored, std::int64_t count)>;
  /// Passes every sample's inputs and ground truth on, in pieces, after checking each value: finite, labels
  /// in range.
  void read_all(const TakeRows& take_inputs, const TakeRows& take_truth) const;

  /// The memory for comparing data with the file's digests.
  [[nodiscard]] std::int64_t reading_bytes() const override;

  /// Checks all values of a file that `mylos prepare` did not make, in which values may be NaN and labels
  /// outside the range. The pass of identity() makes the same check; this function is for callers that do not
  /// need the identity.
  void require_valid_values() const override;
  void require_label(std::int64_t row, std::int32_t label) const override;

 private:
  void open_inputs();
  void open_truth();
  void open_grid();
  void open_names();
  /// Returns whether the file has an identity and digests: copied attributes alone prove nothing about other
  /// data in the file.
  [[nodiscard]] bool was_prepared() const;
  void read_stored_inputs(std::int64_t first, std::int64_t count, void* destination) const;
  void read_stored_targets(std::int64_t first, std::int64_t count, float* destination) const;
  /// Checks every value and returns the identity of all.
  [[nodiscard]] std::string computed_identity() const;
  [[nodiscard]] ColumnStatistics stored_statistics(const std::string& of, std::int64_t columns) const;
  /// Returns the stored statistics if all samples are asked for and prepare wrote them; otherwise those of
  /// the rows that `add` adds to the sums.
  [[nodiscard]] ColumnStatistics statistics_of(
      const std::string& of, std::int64_t columns, Split part,
      const std::function<void(StatisticsAccumulator&, std::int64_t first, std::int64_t count)>& add,
      std::int64_t row_bytes) const;

  std::string path_;
  hdf5::File file_;
  Digests digests_;
  std::optional<CheckedArray> inputs_;
  std::optional<CheckedArray> truth_;
  DatasetShape shape_;
  std::vector<std::int64_t> grid_;
  std::vector<std::string> input_names_;
  std::vector<std::string> target_names_;
  ColumnOrder input_order_;   // empty: stored order
  ColumnOrder target_order_;  // empty: stored order
};

}  // namespace mylos
