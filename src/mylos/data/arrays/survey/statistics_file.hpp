// The file of data.statistics: what a pass over the data found, so that the next start needs none.
//
// A text file. Each of its entries is found by a key, a digest of the files' names (without folders), sizes,
// times of change and metadata, and of the section [data.arrays]. So an entry is never used for other data;
// copied or touched files take a new pass.
#pragma once

#include <string>

#include "mylos/data/arrays/survey/survey.hpp"

namespace mylos {

/// Returns what the file at `path` has for this key; otherwise makes the pass, with the other ranks, and adds
/// the entry. An empty `path` is no file. All ranks call it for the same data. Throws Error: as survey_over()
/// does, bad_input if the file is of another kind or damaged, failed if it cannot be written.
[[nodiscard]] Survey kept_survey(const std::string& path, const std::string& key, const SurveyedData& data,
                                 RankGroup& ranks);

}  // namespace mylos
