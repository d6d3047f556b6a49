// Survey: one pass over all values of a store, which gives the digest of its contents and sums for the
// statistics of its channels.
//
// The files are divided into groups, each with sums of its own, which are added in the order of the files.
// The statistics of a part of the samples use the sums of the groups that lie in it completely, and read the
// files at its ends once more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/data/arrays/channel_sums.hpp"
#include "mylos/data/arrays/level_cache.hpp"
#include "mylos/data/arrays/sample_layout.hpp"
#include "mylos/data/arrays/window_index.hpp"
#include "mylos/data/files/column_names.hpp"
#include "mylos/data/files/statistics.hpp"

namespace mylos {

/// Sums of the channels of each array; of targets that are differences, those of the differences too.
struct ArraySums {
  explicit ArraySums(const SampleLayout& layout);

  void add(const ArraySums& other);

  std::vector<ChannelSums> values;       // of each array
  std::vector<ChannelSums> differences;  // of each array; without channels where none are needed
};

struct Survey {
  static constexpr std::int64_t max_groups = 64;

  std::string digest;             // of all values
  std::vector<ArraySums> groups;  // each of files_per_group(files) files
};

[[nodiscard]] std::int64_t files_per_group(std::int64_t files);

/// What a pass reads; references outlive it.
struct SurveyedData {
  const SampleLayout& layout;
  const WindowIndex& windows;
  LevelCache& cache;
};

/// Makes the pass. Throws Error (bad_input) as LevelCache::level does.
[[nodiscard]] Survey survey_of(const SurveyedData& data);

/// Returns the sums of windows [first, first + count).
[[nodiscard]] ArraySums sums_of(const SurveyedData& data, const Survey& survey, std::int64_t first,
                                std::int64_t count);

/// Returns the statistics of the channels that `sources` give: entry i is that of stored channel order[i].
[[nodiscard]] ColumnStatistics statistics_of(const ArraySums& sums, const std::vector<ChannelSource>& sources,
                                             const ColumnOrder& order);

}  // namespace mylos
