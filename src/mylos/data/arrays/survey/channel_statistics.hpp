// What the sums of a survey say: the statistics of channels, and how many values are missing.
#pragma once

#include <string>
#include <vector>

#include "mylos/data/arrays/survey/survey.hpp"
#include "mylos/data/files/meaning/column_names.hpp"
#include "mylos/data/files/scaling/statistics.hpp"

namespace mylos {

/// Throws Error (too_little_data) if all values of a channel are missing. `arrays`: of the layout; `name`: of
/// the store.
void require_known(const ArraySums& sums, const std::vector<ChannelSource>& sources,
                   const std::vector<std::string>& arrays, const std::string& name);

/// Returns the statistics of `channels` channels: entry i is that of stored channel order[i]. Channels that
/// none of the sources gives are those of `known`, 0 or 1, and encodings, waves between -1 and 1: they have
/// the mean 0 and the deviation 1, by which data.normalize leaves them as they are, and which do not depend
/// on the gaps or on the part of a year in the data.
[[nodiscard]] ColumnStatistics statistics_of(const ArraySums& sums, const std::vector<ChannelSource>& sources,
                                             const std::vector<KnownSource>& known, std::int64_t channels,
                                             const ColumnOrder& order);

/// Returns the fraction of the values of an array that are missing, of those that its mask lets count, at the
/// levels that windows read.
[[nodiscard]] double missing_fraction(const SurveyedData& data, const Survey& survey, std::size_t array);

}  // namespace mylos
