// Survey: one pass over all values of a store, which gives the digest of its contents and sums for the
// statistics of its channels.
//
// The files are divided into groups, each with a digest and sums of its own, which are joined in the order of
// the files: the ranks share the pass, and its results do not depend on their number. The statistics of a
// part of the samples use the sums of the groups that lie in it completely, and read the files at its ends
// once more.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/data/arrays/files/level_cache.hpp"
#include "mylos/data/arrays/layout/sample_layout.hpp"
#include "mylos/data/arrays/layout/window_index.hpp"
#include "mylos/data/arrays/survey/channel_sums.hpp"

namespace mylos {

/// Sums of the channels of each array; of targets that are differences, those of the differences too.
struct ArraySums {
  explicit ArraySums(const SampleLayout& layout);

  void add(const ArraySums& other);

  std::vector<ChannelSums> values;       // of each array
  std::vector<ChannelSums> differences;  // of each array; without channels where none are needed
};

/// What the pass found in a group of files.
struct SurveyGroup {
  std::string digest = {};  // of all values
  ArraySums sums;
};

struct Survey {
  static constexpr std::int64_t max_groups = 64;

  std::vector<SurveyGroup> groups;  // each of files_per_group(files) files

  /// Returns the digest of all values.
  [[nodiscard]] std::string digest() const;
};

/// Returns a line of text with the digest, and the sums as further lines, which are read back exactly.
[[nodiscard]] std::string text_of(const SurveyGroup& group);
/// Reads what text_of() returned; nothing if the text is something else.
[[nodiscard]] std::optional<SurveyGroup> read_group(std::istream& text, const SampleLayout& layout);

[[nodiscard]] std::int64_t files_per_group(std::int64_t files);
[[nodiscard]] std::int64_t groups_of_files(std::int64_t files);

/// What a pass reads; references outlive it.
struct SurveyedData {
  const SampleLayout& layout;
  const WindowIndex& windows;
  LevelCache& cache;
};

/// Makes the pass: each rank reads some of the groups, and all get the results. All ranks call it for files
/// of the same names and metadata. Throws Error (bad_input) as LevelCache::level does, on all ranks.
[[nodiscard]] Survey survey_over(const SurveyedData& data, RankGroup& ranks);

/// Returns the sums of windows [first, first + count).
[[nodiscard]] ArraySums sums_of(const SurveyedData& data, const Survey& survey, std::int64_t first,
                                std::int64_t count);

}  // namespace mylos
