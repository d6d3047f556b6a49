// Dataset: an opened dataset file, checked before memory is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mylos/data/files/checked_array.hpp"
#include "mylos/data/files/column_names.hpp"
#include "mylos/data/files/dataset_format.hpp"
#include "mylos/data/files/statistics.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

/// A range of samples of a file.
struct Split {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Whether a file may hold inputs alone, which is enough for prediction but not for training or evaluation.
enum class Answers { needed, optional };

/// Returns the name of the dataset with the answers, without its slash: "labels", "targets", "nothing".
[[nodiscard]] const char* name_of_answers(Task task);

class Dataset {
 public:
  /// Throws Error (bad_input) if the file is missing, is not a dataset, has no answers although they are
  /// needed, or has parts that do not fit each other.
  explicit Dataset(const std::string& path, Answers answers = Answers::needed,
                   Digests digests = Digests::compared);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const DatasetShape& shape() const { return shape_; }
  [[nodiscard]] Task task() const { return shape_.task; }
  [[nodiscard]] std::int64_t samples() const { return shape_.samples; }
  [[nodiscard]] std::int64_t features() const { return shape_.features; }
  /// Returns the grid of a sample: its extents, then its channels; empty if the file does not state it. Two
  /// extents alone are an image with one channel.
  [[nodiscard]] const std::vector<std::int64_t>& grid() const { return grid_; }
  /// Returns the outputs of a network for this data per sample: classes or targets; 0 if the file does not
  /// state them.
  [[nodiscard]] std::int64_t outputs() const { return shape_.outputs; }

  /// Returns the names of the classes; empty if the file does not state them.
  [[nodiscard]] std::vector<std::string> class_names() const;

  /// Returns the names of the inputs and targets in reading order: of each column, or of each channel of
  /// samples on a grid. Empty if the file does not state them.
  [[nodiscard]] const std::vector<std::string>& input_names() const { return input_names_; }
  [[nodiscard]] const std::vector<std::string>& target_names() const { return target_names_; }
  /// Sets the order in which columns, their names and statistics are read from now on. read_all() and
  /// identities keep the stored order. The orders must have one entry per name (of columns or channels).
  void reorder(const ColumnOrder& inputs, const ColumnOrder& targets);
  /// Returns the column of the file that is read as `column`.
  [[nodiscard]] std::int64_t stored_input(std::int64_t column) const;
  [[nodiscard]] std::int64_t stored_target(std::int64_t column) const;

  /// Reads samples [first, first + count): inputs in their stored type; labels, or targets [count, outputs];
  /// files with inputs alone have none. Compares blocks that are read for the first time with the file's
  /// digests. Throws Error (bad_input) with the rows of a changed block.
  void read_inputs(std::int64_t first, std::int64_t count, void* destination) const;
  void read_labels(std::int64_t first, std::int64_t count, std::int32_t* destination) const;
  void read_targets(std::int64_t first, std::int64_t count, float* destination) const;

  /// Returns the statistics of the inputs and (regression) targets of these samples: as stored by prepare for
  /// all samples of the file, otherwise from a pass over them. Stored statistics without digests, which
  /// prepare did not write, are compared with those of a pass. Throws Error (bad_input) if they differ.
  [[nodiscard]] ColumnStatistics input_statistics(Split part) const;
  [[nodiscard]] ColumnStatistics target_statistics(Split part) const;
  [[nodiscard]] ColumnStatistics input_statistics() const { return input_statistics({0, samples()}); }
  [[nodiscard]] ColumnStatistics target_statistics() const { return target_statistics({0, samples()}); }
  /// Returns the statistics that prepare stored, without a pass; nothing if prepare did not make the file.
  [[nodiscard]] std::optional<ColumnStatistics> prepared_input_statistics() const;
  /// Returns the digest of the contents: as stored by prepare, otherwise from a pass over the file. A restart
  /// with other data is refused.
  [[nodiscard]] std::string identity() const;
  /// Returns the stored digest without a pass; nothing if prepare did not make the file.
  [[nodiscard]] std::optional<std::string> stored_identity() const;

  /// Receives the next `count` samples' inputs or answers in stored form.
  using TakeRows = std::function<void(const std::byte* stored, std::int64_t count)>;
  /// Passes every sample's inputs and answers on, in pieces, after checking each value: finite, labels in
  /// range.
  void read_all(const TakeRows& take_inputs, const TakeRows& take_answers) const;

  /// Returns the memory for comparing data with the file's digests.
  [[nodiscard]] std::int64_t checking_bytes() const;

  /// Checks all values of a file that `mylos prepare` did not make, in which values may be NaN and labels
  /// outside the range. The pass of identity() makes the same check; this function is for callers that do not
  /// need the identity. Throws Error (bad_input).
  void require_valid_values() const;
  /// Throws Error (bad_input) unless the label of sample `row` is a class.
  void require_label(std::int64_t row, std::int32_t label) const;

 private:
  void open_inputs();
  void open_answers();
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
  std::optional<CheckedArray> answers_;
  DatasetShape shape_;
  std::vector<std::int64_t> grid_;
  std::vector<std::string> input_names_;
  std::vector<std::string> target_names_;
  ColumnOrder input_order_;   // empty: stored order
  ColumnOrder target_order_;  // empty: stored order
};

/// The training part and the held-out part, at the file's end, of `samples` samples.
struct Splits {
  Split train;
  Split validation;
};
[[nodiscard]] Splits split_samples(std::int64_t samples, double validation_fraction);

}  // namespace mylos
