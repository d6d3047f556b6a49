// The tables of `mylos data`: files, arrays and channels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/data/files/scaling/statistics.hpp"

namespace mylos::app {

struct FileRow {
  std::string path;
  std::int64_t samples = 0;
  std::int64_t bytes = 0;
};
/// Returns a line for each file, for the first and the last ones if there are many, and one for all.
[[nodiscard]] std::string file_table(const std::vector<FileRow>& files);

struct ArrayRow {
  std::string path;
  std::string use;      // "input, target"
  std::string shape;    // "time 201, y 64, x 64"
  std::string type;     // "float64", "int16, big-endian"
  std::string storage;  // "chunks 1 x 64 x 64, gzip, shuffle"
  std::int64_t bytes = 0;
};
[[nodiscard]] std::string array_table(const std::vector<ArrayRow>& arrays);

/// Returns a line for each entry, for the first ones if there are many. `names`: empty = numbers of columns.
[[nodiscard]] std::string channel_table(const std::vector<std::string>& names,
                                        const ColumnStatistics& statistics);

/// Returns "64 x 64 x 3".
[[nodiscard]] std::string extents_text(const std::vector<std::int64_t>& extents);

}  // namespace mylos::app
