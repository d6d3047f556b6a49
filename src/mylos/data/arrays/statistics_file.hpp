// The file of data.statistics: what a pass over the data found, so that the next start needs none.
//
// A text file. Each of its entries is found by a key, a digest of the files' names (without folders), sizes,
// times of change and metadata, and of the section [data.arrays]. So an entry is never used for other data;
// copied or touched files take a new pass.
#pragma once

#include <optional>
#include <string>

#include "mylos/data/arrays/survey.hpp"

namespace mylos {

/// Returns the entry of this key; nothing if there is no such file or entry. Throws Error (bad_input) if the
/// file is of another kind or damaged.
[[nodiscard]] std::optional<Survey> stored_survey(const std::string& path, const std::string& key,
                                                  const SampleLayout& layout, std::int64_t groups);

/// Adds the entry, or replaces the one of this key. Processes may do so at the same time: the last one's file
/// stays. Throws Error (failed) if the file cannot be written.
void store_survey(const std::string& path, const std::string& key, const Survey& survey);

}  // namespace mylos
