// ArrayStore: samples that are windows in time of N-dimensional arrays in HDF5 or NetCDF-4 files.
//
// docs/how-to/data.md says how arrays become samples; array_options.hpp has the options, rollout_layout.hpp
// the channels of a sample. Samples are numbered file by file, in each file along the axis "sample", then
// along time; with points_are_samples the points of a window follow each other. Values are read as stored,
// converted in double and rounded to float32.
//
// Reading goes through a bounded cache of converted levels (level_cache.hpp), so that levels which several
// windows share are read once. Files are kept open in a small pool; a file that changes after it was opened
// first is refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/data/array_options.hpp"
#include "mylos/data/arrays/coordinates.hpp"
#include "mylos/data/arrays/layout/rollout_layout.hpp"
#include "mylos/data/files/sample_store.hpp"
#include "mylos/io/hdf5/hdf5_array.hpp"

namespace mylos {

/// Where a sample lies, in stored indices, counted from 0.
struct WindowLocation {
  std::int64_t file = 0;    // in files()
  std::int64_t sample = 0;  // along the axis "sample"; 0 without it
  std::int64_t newest = 0;  // newest level of the inputs along "time"; 0 without it
  std::int64_t level = 0;   // the same level, counted from the first one that is used
  std::int64_t point = 0;   // with points_are_samples: the point of the grid (after slicing), row-major
};

/// One array of the first file, for tables.
struct ArrayReport {
  std::string path;
  std::vector<std::string> axes;  // in the file's order
  hdf5::ArrayFacts facts;         // with the type as which the attributes let the numbers be read
};

class ArrayStore final : public SampleStore {
 public:
  /// Opens every file once. Throws Error (bad_input) with file and array; see open_array_store().
  ArrayStore(std::vector<std::string> files, const ArrayOptions& options, std::int64_t steps,
             GroundTruth truth, std::vector<std::string> grid);

  [[nodiscard]] const std::string& path() const override;
  [[nodiscard]] const DatasetShape& shape() const override;
  [[nodiscard]] const std::vector<std::int64_t>& grid() const override;
  [[nodiscard]] const GridAxes& axes() const override;
  [[nodiscard]] LevelStep level_step() const override;
  [[nodiscard]] SampleMask mask() const override;
  [[nodiscard]] MissingNumbers missing() const override;
  /// Returns of each array whose values may be missing its path, and the fraction that is missing at the
  /// levels of samples, of the points that its mask lets count.
  [[nodiscard]] std::vector<std::pair<std::string, double>> missing_fractions() const;
  [[nodiscard]] std::vector<MaskSummary> masks() const override;
  /// Names of channels: "u", with several levels "u(t-1)", "u(t)", with an axis "channel" "u[0]", "u[1]".
  [[nodiscard]] const std::vector<std::string>& input_names() const override;
  [[nodiscard]] const std::vector<std::string>& target_names() const override;
  void reorder(const ColumnOrder& inputs, const ColumnOrder& targets) override;
  [[nodiscard]] std::string location_of_input(std::int64_t sample, std::int64_t column) const override;
  [[nodiscard]] std::string location_of_target(std::int64_t sample, std::int64_t column) const override;

  void read_inputs(std::int64_t first, std::int64_t count, void* destination) const override;
  void read_labels(std::int64_t first, std::int64_t count, std::int32_t* destination) const override;
  void read_targets(std::int64_t first, std::int64_t count, float* destination) const override;

  /// Statistics of an array's channel are those of all levels that the windows of `part` touch, and the same
  /// for every level of a window and every step; for differences, those of all differences between these
  /// levels. They are summed in one fixed order, and taken from the file `statistics` of the options where it
  /// has them.
  [[nodiscard]] bool has_channel_statistics() const override { return true; }
  [[nodiscard]] ColumnStatistics input_statistics(Split part) const override;
  [[nodiscard]] ColumnStatistics target_statistics(Split part) const override;

  /// Makes the pass that statistics and identity need; the ranks share it. All ranks call it. Values that
  /// differ between the ranks' files remain unnoticed. Throws Error (bad_input) on all ranks.
  void survey_over(RankGroup& ranks) const;
  /// Returns a digest of the files' names without folders, their metadata and the values of the arrays. The
  /// pass over the values is made once, with that of the statistics.
  [[nodiscard]] std::string identity() const override;
  /// Does nothing: values are checked whenever they are read.
  void require_valid_values() const override {}
  [[nodiscard]] std::int64_t reading_bytes() const override;
  void release() const override;
  [[nodiscard]] std::int64_t block_samples() const override;

  [[nodiscard]] const RolloutLayout& rollout() const;
  [[nodiscard]] const ArrayOptions& options() const;
  [[nodiscard]] const std::vector<std::string>& files() const;
  /// Returns the samples of file `file`.
  [[nodiscard]] Split samples_of(std::int64_t file) const;
  [[nodiscard]] WindowLocation location_of(std::int64_t sample) const;
  /// Returns whether the windows of samples first to last follow each other in time, on one trajectory.
  [[nodiscard]] bool follow(std::int64_t first, std::int64_t last) const;
  /// Returns inputs, then targets that are no inputs, then constants.
  [[nodiscard]] const std::vector<ArrayReport>& arrays() const;
  /// Returns the array of each channel of the targets, in reading order.
  [[nodiscard]] std::vector<std::string> target_arrays() const;
  /// Returns which numbers of a level [points, channels] of an array count; empty: all. The array may be
  /// another one of the first file. Throws Error (data_mismatch) if there is none.
  [[nodiscard]] std::vector<std::uint8_t> mask_of(const std::string& array) const;
  /// Returns the times of the levels of a file, as they are used; none if it states no CF times.
  [[nodiscard]] const LevelTimes& times(std::int64_t file) const;
  /// Writes the encoded channels of the inputs [points, channels] of a window of one level, which may lie
  /// beyond the last one of the file (see LevelTimes::at()). Others are left as they are, but for their
  /// order.
  void encode_level(std::int64_t file, std::int64_t level, double step_ms, float* inputs) const;
  /// Reads the axes of an array of a file as they are used, sliced: names, coordinates and units. The array
  /// may be another one of the file, as above.
  [[nodiscard]] ArrayCoordinates coordinates(std::int64_t file, const std::string& array) const;

 protected:
  /// Reads the numbers of the box alone.
  [[nodiscard]] std::shared_ptr<SampleStore> boxes(const GridPart& part,
                                                   const std::vector<std::int64_t>& grid) const override;

 private:
  class State;
  explicit ArrayStore(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

/// Opens the files that names and patterns stand for (file_pattern.hpp) as one store. `steps`: of a rollout;
/// 1: none. `grid`: the names of its axes in the order of points; empty: the order of the first input. Throws
/// Error (bad_input), before memory is taken, if a pattern matches no file, a file is of another format,
/// arrays or axes are missing or do not fit each other, slices or windows leave nothing, or targets cannot be
/// fed back although steps > 1.
[[nodiscard]] std::shared_ptr<ArrayStore> open_array_store(const std::vector<std::string>& names,
                                                           const ArrayOptions& options,
                                                           std::int64_t steps = 1,
                                                           GroundTruth truth = GroundTruth::required,
                                                           std::vector<std::string> grid = {});

}  // namespace mylos
