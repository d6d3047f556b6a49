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

/// Whether a file may hold inputs alone: enough to predict from, too little to learn from or to be judged by.
enum class Answers { needed, optional };

/// The dataset that holds the answers, without its slash: "labels", "targets", "nothing".
[[nodiscard]] const char* name_of_answers(Task task);

class Dataset {
 public:
  /// Throws Error (bad_input) when the file is missing, is no dataset, has no answers where they are needed,
  /// or its parts do not fit each other.
  explicit Dataset(const std::string& path, Answers answers = Answers::needed,
                   Digests digests = Digests::compared);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const DatasetShape& shape() const { return shape_; }
  [[nodiscard]] Task task() const { return shape_.task; }
  [[nodiscard]] std::int64_t samples() const { return shape_.samples; }
  [[nodiscard]] std::int64_t features() const { return shape_.features; }
  /// The grid of a sample: its extents, then its channels; empty where the file does not say. Two extents
  /// alone are an image of one channel.
  [[nodiscard]] const std::vector<std::int64_t>& grid() const { return grid_; }
  /// What a network for this data gives per sample: classes, or targets; 0 where the file does not say.
  [[nodiscard]] std::int64_t outputs() const { return shape_.outputs; }

  /// What the classes are called, where the file says so; else empty.
  [[nodiscard]] std::vector<std::string> class_names() const;

  /// What the inputs and the targets are called, in the order in which they are read: each column, or each
  /// channel of samples on a grid. Empty where the file does not say.
  [[nodiscard]] const std::vector<std::string>& input_names() const { return input_names_; }
  [[nodiscard]] const std::vector<std::string>& target_names() const { return target_names_; }
  /// From now on columns, and their names and statistics, are read in this order; not by read_all() and
  /// identities, which go by what is stored. Orders of as many columns, or channels, as there are names.
  void reorder(const ColumnOrder& inputs, const ColumnOrder& targets);
  /// The column of the file that is read as `column`.
  [[nodiscard]] std::int64_t stored_input(std::int64_t column) const;
  [[nodiscard]] std::int64_t stored_target(std::int64_t column) const;

  /// Samples [first, first + count): inputs in their stored type; labels, or targets [count, outputs], which
  /// of inputs alone are none. Blocks that are read for the first time are compared with the file's digests:
  /// throws Error (bad_input) with the rows of one that was changed.
  void read_inputs(std::int64_t first, std::int64_t count, void* destination) const;
  void read_labels(std::int64_t first, std::int64_t count, std::int32_t* destination) const;
  void read_targets(std::int64_t first, std::int64_t count, float* destination) const;

  /// Of the inputs and (regression) targets of these samples: as stored by prepare where they are all of the
  /// file's, else by a pass over them. Stored ones that have no digests, so that prepare did not write them,
  /// are compared with those of a pass: throws Error (bad_input) where they are others.
  [[nodiscard]] ColumnStatistics input_statistics(Split part) const;
  [[nodiscard]] ColumnStatistics target_statistics(Split part) const;
  [[nodiscard]] ColumnStatistics input_statistics() const { return input_statistics({0, samples()}); }
  [[nodiscard]] ColumnStatistics target_statistics() const { return target_statistics({0, samples()}); }
  /// Those that prepare stored, without a pass: nothing in a file that it did not make.
  [[nodiscard]] std::optional<ColumnStatistics> prepared_input_statistics() const;
  /// Of the contents: as stored by prepare, else by a pass over the file. A restart on other data is refused
  /// by it.
  [[nodiscard]] std::string identity() const;
  /// Without that pass: nothing where prepare did not make the file.
  [[nodiscard]] std::optional<std::string> stored_identity() const;

  /// Takes the next `count` samples' inputs or answers as they are stored.
  using TakeRows = std::function<void(const std::byte* stored, std::int64_t count)>;
  /// Every sample's inputs and answers, piece by piece, each value checked: finite, labels in range.
  void read_all(const TakeRows& take_inputs, const TakeRows& take_answers) const;

  /// Memory for comparing what is read with the file's digests.
  [[nodiscard]] std::int64_t checking_bytes() const;

  /// In a file that `mylos prepare` did not make any value may be NaN and any label outside. That pass of
  /// identity() finds them; so does this, where the identity is not asked for. Throws Error (bad_input).
  void require_valid_values() const;
  /// Throws Error (bad_input) unless the label of sample `row` is a class.
  void require_label(std::int64_t row, std::int32_t label) const;

 private:
  void open_inputs();
  void open_answers();
  void open_grid();
  void open_names();
  /// Both an identity and digests: a copy of the attributes alone says nothing of what was copied beside
  /// them.
  [[nodiscard]] bool was_prepared() const;
  void read_stored_inputs(std::int64_t first, std::int64_t count, void* destination) const;
  void read_stored_targets(std::int64_t first, std::int64_t count, float* destination) const;
  /// Checks every value; the identity of all.
  [[nodiscard]] std::string computed_identity() const;
  [[nodiscard]] ColumnStatistics stored_statistics(const std::string& of, std::int64_t columns) const;
  /// As stored, where all samples are asked for and they are prepare's; else of the rows that `add` is called
  /// to add to the sums.
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
  ColumnOrder input_order_;   // empty: as stored
  ColumnOrder target_order_;  // likewise
};

/// The training part and, at the file's end, the held-out part of `samples` samples.
struct Splits {
  Split train;
  Split validation;
};
[[nodiscard]] Splits split_samples(std::int64_t samples, double validation_fraction);

}  // namespace mylos
