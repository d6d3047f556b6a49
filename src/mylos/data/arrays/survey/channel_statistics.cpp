#include "mylos/data/arrays/survey/channel_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/data/arrays/survey/touched_levels.hpp"

namespace mylos {

void require_known(const ArraySums& sums, const std::vector<ChannelSource>& sources,
                   const std::vector<std::string>& arrays, const std::string& name) {
  for (const ChannelSource& source : sources) {
    const auto& channels = (source.minus ? sums.differences : sums.values)[source.array].channels();
    for (std::size_t i = 0; i < channels.size(); ++i) {
      if (channels[i].count > 0) continue;
      fail_input(
          errors::too_little_data,
          "{}: all {} of {}{} are missing in these samples (data.arrays.missing), so that they have no "
          "mean",
          name, source.minus ? "differences" : "values", arrays[source.array],
          channels.size() == 1 ? "" : fmt::format("[{}]", i));
    }
  }
}

ColumnStatistics statistics_of(const ArraySums& sums, const std::vector<ChannelSource>& sources,
                               const std::vector<KnownSource>& known, std::int64_t count,
                               const ColumnOrder& order) {
  constexpr ChannelSums::Channel encoded{.count = 1, .mean = 0, .squares = 1, .minimum = -1, .maximum = 1};
  std::vector<ChannelSums::Channel> channels(static_cast<std::size_t>(count), encoded);
  for (const KnownSource& source : known)
    for (std::int64_t i = source.first; i < source.first + source.count; ++i)
      channels[static_cast<std::size_t>(i)].minimum = 0;
  for (const ChannelSource& source : sources) {
    const ChannelSums& of = (source.minus ? sums.differences : sums.values)[source.array];
    std::ranges::copy(of.channels(), channels.begin() + source.first);
  }
  ColumnStatistics result;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const std::size_t stored = order.empty() ? i : static_cast<std::size_t>(order[i]);
    const ChannelSums::Channel& channel = channels[stored];
    result.mean.push_back(channel.mean);
    result.deviation.push_back(std::sqrt(channel.squares / channel.count));
    result.minimum.push_back(channel.minimum);
    result.maximum.push_back(channel.maximum);
  }
  return result;
}

double missing_fraction(const SurveyedData& data, const Survey& survey, std::size_t array) {
  const WindowIndex& windows = data.windows;
  double levels = 0;
  for (std::int64_t file = 0; file < windows.files(); ++file) {
    windows.for_runs(file, 0, windows.windows_of_trajectory(file),
                     [&](std::int64_t level, std::int64_t count) {
                       const TouchedLevels used = touched(data.layout, level, count);
                       levels += static_cast<double>((used.end - used.begin) * windows.trajectories(file));
                     });
  }
  const std::vector<std::uint8_t>& mask = data.cache.masks()[array].counts;
  const std::int64_t of_level =
      mask.empty() ? data.cache.plan(array).level_elements : std::ranges::count(mask, std::uint8_t{1});
  double known = 0;
  for (const SurveyGroup& group : survey.groups)
    for (const ChannelSums::Channel& channel : group.sums.values[array].channels()) known += channel.count;
  return 1 - known / (levels * static_cast<double>(of_level));
}

}  // namespace mylos
