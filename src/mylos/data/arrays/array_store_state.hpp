// ArrayStore::State: the open files, the layout of samples and the cache of levels that an ArrayStore reads
// by.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/data/arrays/array_store.hpp"
#include "mylos/data/arrays/files/file_table.hpp"
#include "mylos/data/arrays/files/level_cache.hpp"
#include "mylos/data/arrays/layout/sample_layout.hpp"
#include "mylos/data/arrays/layout/window_index.hpp"
#include "mylos/data/arrays/masks/array_mask.hpp"
#include "mylos/data/arrays/stored_coordinates.hpp"
#include "mylos/data/arrays/survey/survey.hpp"

namespace mylos {

class ArrayStore::State {
 public:
  State(std::vector<std::string> paths, const ArrayOptions& given, std::int64_t steps, GroundTruth truth,
        std::vector<std::string> grid_axes);
  /// The boxes of the samples of `whole`, whose checks of files, windows and masks they share. The caller
  /// holds its lock.
  State(const State& whole, const GridPart& part);

  /// Calls use(file, array, number) of an array; the number is none if it is no part of samples.
  template <class Use>
  auto with_array(std::int64_t file, const std::string& path, const Use& use) {
    const std::lock_guard lock(mutex);
    const OpenArrayFile& opened = files.open(file);
    const auto found =
        static_cast<std::size_t>(std::ranges::find(files.arrays(), path) - files.arrays().begin());
    if (found < opened.arrays.size()) return use(opened.file, opened.arrays[found], std::optional(found));
    if (!opened.file.exists(path))
      fail_input(errors::data_mismatch, "{}: has no array {}", opened.file.path(), path);
    const OpenArray other(opened.file, path, options, files.grid());
    if (other.extents().grid != layout.grid)
      fail_input(errors::data_mismatch, "{}: array {} is on another grid", opened.file.path(), path);
    return use(opened.file, other, std::optional<std::size_t>());
  }

  /// The inputs of samples, or their targets.
  struct Channels {
    const std::vector<ChannelSource>& sources;
    std::vector<std::string>& names;  // in reading order
    ColumnOrder order = {};           // empty: as in the layout
    [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(names.size()); }
  };

  /// Writes the channels of points [first, first + count) of a window. The caller holds the lock.
  void read_points(const Channels& of, const WindowIndex::Position& window, std::int64_t first,
                   std::int64_t count, float* to);
  /// Writes the channels of samples [first, first + count).
  void read(const Channels& of, std::int64_t first, std::int64_t count, float* to);
  /// Returns where the number lies: file, array and stored indices.
  std::string location_of(const Channels& of, std::int64_t sample, std::int64_t column);

  /// Makes the pass over all values, or takes its results from the file of data.statistics. The caller holds
  /// the lock.
  const Survey& survey(RankGroup& ranks);
  const Survey& survey();
  /// Returns the statistics of the channels, in reading order.
  ColumnStatistics statistics(const Channels& of, Split part);

  ArrayOptions options;
  MissingNumbers missing;
  std::string name;
  std::mutex mutex;  // guards files, cache and surveyed
  FileTable files;
  SampleLayout layout;
  WindowIndex windows;
  std::optional<LevelCache> cache;
  std::optional<Survey> surveyed;
  std::vector<ArrayReport> reports;
  DatasetShape shape;
  std::vector<std::int64_t> grid;
  StoredCoordinates coordinates;
  Encoder encoder;                       // of channels of the inputs
  std::vector<std::uint8_t> known_mask;  // of write_known
  Channels inputs{layout.inputs, layout.input_names};
  Channels targets{layout.targets, layout.target_names};
  std::int64_t points_in_window = 1;  // samples of a window
  std::int64_t block = 1;             // samples of a block
  std::string metadata;               // digest
  std::string statistics_key;         // digest, with sizes and times
  std::int64_t bytes_of_whole = 0;    // of the store of which this one reads boxes, after release()

 private:
  /// Makes the cache of levels for blocks of `block` samples.
  void make_cache(std::vector<SlabPlan> plans, std::vector<ArrayMask> masks);
  /// Opens each file once: checks it against the first and counts its windows. Returns the masks.
  std::vector<ArrayMask> open_all();
};

}  // namespace mylos
